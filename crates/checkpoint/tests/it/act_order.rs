//! GPTQ with channels in an order of their own.

use keepq_checkpoint::{CheckpointError, Method, Recipe, ZeroPoints};
use keepq_tinygemm::select::Fit;
use keepq_tinygemm::w4a16::Layout;

use crate::folder::{Folder, Given, config, make, weights};

const N: usize = 32;
const K: usize = 128;
const GROUP: usize = 32;

/// The group of each channel: all groups have the same number of channels, in no order.
fn groups() -> Vec<i32> {
    (0..K).map(|k| ((k * 37 + 11) % K / GROUP) as i32).collect()
}

/// A checkpoint whose channels belong to these groups.
fn folder(groups: &[i32]) -> (Folder, Vec<Given>) {
    let recipe = Recipe::new(Method::Gptq(ZeroPoints::LessOne), GROUP, true).unwrap();
    let mut tensors = make(&recipe, "w", (N, K), &weights(N, K)).tensors;
    let g_idx = tensors.iter_mut().find(|tensor| tensor.0 == "w.g_idx").unwrap();
    g_idx.3 = groups.iter().flat_map(|group| group.to_le_bytes()).collect();
    (Folder::new(&config(&recipe), &tensors), tensors)
}

#[test]
fn channels_are_put_in_order_with_their_activations() {
    let groups = groups();
    let (folder, _) = folder(&groups);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (N, K)).unwrap();

    let converted = linear.to_w4a8(64).unwrap();
    assert_eq!(converted.fit, Fit::Exact);
    let order = converted.order.unwrap();
    // A stable sort by group.
    let mut expected: Vec<u32> = (0..K as u32).collect();
    expected.sort_by_key(|&channel| groups[channel as usize]);
    assert_eq!(order, expected);

    let (w, mut row) = (converted.weights.view(), vec![0.0; K]);
    let packed = linear.to_w4a16(Layout::Avx2, 64).unwrap();
    assert_eq!(packed.order.as_ref(), Some(&order));
    for n in 0..N {
        linear.decode_row(n, &mut row);
        let by_offset: Vec<f32> = packed.weights.view().row(n).unwrap().collect();
        for (i, &channel) in order.iter().enumerate() {
            let level = f32::from(w.code(n, i).unwrap()) - f32::from(w.zero(n, i).unwrap());
            assert_eq!(level * w.scale(n, i).unwrap(), row[channel as usize], "[{n}, {i}]");
            let (found, expected) = (by_offset[i], row[channel as usize]);
            assert!((found - expected).abs() <= 0.01 * 0.08, "[{n}, {i}]: {found} {expected}");
        }
    }
}

#[test]
fn groups_in_order_need_no_order() {
    let (folder, _) = folder(&(0..K).map(|k| (k / GROUP) as i32).collect::<Vec<_>>());
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (N, K)).unwrap();
    assert_eq!(linear.to_w4a8(64).unwrap().order, None);
}

#[test]
fn groups_that_are_not_there_or_uneven_are_named() {
    for wrong in [4, -1, i32::MIN] {
        let mut groups = groups();
        groups[9] = wrong;
        let (folder, _) = folder(&groups);
        let files = folder.open().unwrap();
        let error = files.parse().unwrap().linear("w", (N, K)).unwrap_err();
        let text = format!("tensor \"w.g_idx\": channel 9: expected a group below 4, found {wrong}");
        assert_eq!(error.to_string(), text);
    }
    let mut uneven = groups();
    uneven[0] = (uneven[0] + 1) % 4;
    let (folder, _) = folder(&uneven);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (N, K)).unwrap();
    let error = linear.to_w4a8(64).unwrap_err();
    assert!(matches!(error, CheckpointError::UnevenGroups { expected: GROUP, .. }), "{error}");
    // Its values are defined all the same, and can be quantized anew for one scale a row.
    assert_eq!(linear.to_int4().unwrap().fit, Fit::QuantizedAgain);
}
