//! Weights converted for each path, against the values that they have in the checkpoint.

use keepq_checkpoint::{Converted, Linear, Method, Recipe, ZeroPoints};
use keepq_tinygemm::select::{Fit, PathKind};
use keepq_tinygemm::w4a16::Layout;

use crate::folder::{Folder, Given, config, make, weights};
use crate::recipes::METHODS;

/// All values of a weight by the codes of a path, and what became of them.
fn values(linear: &Linear<'_>, path: PathKind, layout: Layout) -> (Vec<f32>, Fit) {
    let (n, k) = (linear.n(), linear.k());
    let each = |value: &dyn Fn(usize, usize) -> f32| (0..n * k).map(|i| value(i / k, i % k)).collect::<Vec<_>>();
    match path {
        PathKind::W4A16 => {
            let Converted { weights, fit, .. } = linear.to_w4a16(layout, 64).unwrap();
            let w = weights.view();
            let scales = w.scales();
            let value = |r: usize, i: usize| {
                let [scale, zero] = scales[i / w.group() * n + r];
                (f32::from(w.packed().code(r, i).unwrap()) - 8.0) * scale.to_f32() + zero.to_f32()
            };
            (each(&value), fit)
        }
        PathKind::W4A8 => {
            let Converted { weights, fit, .. } = linear.to_w4a8(64).unwrap();
            let w = weights.view();
            w.check_compensations().unwrap();
            let level = |r, i| f32::from(w.code(r, i).unwrap()) - f32::from(w.zero(r, i).unwrap());
            (each(&|r, i| level(r, i) * w.scale(r, i).unwrap()), fit)
        }
        PathKind::Int4 => {
            let Converted { weights: w, fit, .. } = linear.to_int4().unwrap();
            (each(&|r, i| f32::from(w.level(r, i).unwrap()) * w.row(r).unwrap().1), fit)
        }
        PathKind::Fallback => {
            let Converted { weights, fit, .. } = linear.to_wna16(64).unwrap();
            let w = weights.view();
            (each(&|r, i| w.weight(r, i).unwrap().to_f32()), fit)
        }
    }
}

fn decoded(linear: &Linear<'_>) -> Vec<f32> {
    let mut all = vec![0.0; linear.n() * linear.k()];
    for (row, out) in all.chunks_exact_mut(linear.k()).enumerate() {
        linear.decode_row(row, out);
    }
    all
}

#[test]
fn every_form_for_every_path() {
    // 96 rows: a block of 64 and one of 32 in AVX-512's layout.
    let (n, k) = (96, 256);
    let weights = weights(n, k);
    for method in METHODS {
        for (group, asymmetric) in [(32, false), (256, true)] {
            let recipe = Recipe::new(method, group, asymmetric).unwrap();
            let made = make(&recipe, "w", (n, k), &weights);
            let folder = Folder::new(&config(&recipe), &made.tensors);
            let files = folder.open().unwrap();
            let checkpoint = files.parse().unwrap();
            let linear = checkpoint.linear("w", (n, k)).unwrap();
            let expected = decoded(&linear);
            for path in PathKind::ALL {
                for layout in Layout::ALL {
                    let (found, fit) = values(&linear, path, layout);
                    let (mut squares, mut total) = (0.0, 0.0);
                    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        if fit == Fit::Exact {
                            assert_eq!(found, expected, "{method:?} {path} {group} at {i}");
                        }
                        squares += f64::from(found - expected).powi(2);
                        total += f64::from(*expected).powi(2);
                    }
                    let relative = (squares / total).sqrt();
                    let most = match fit {
                        Fit::Exact => 0.0,
                        // bf16 has 8 bits, an offset of it up to eight scales.
                        Fit::Rounded => 0.006,
                        _ => 0.14,
                    };
                    assert!(relative <= most, "{method:?} {path} {group} {asymmetric}: {fit} {relative}");
                    // No worse than the selector says of the form.
                    let said = checkpoint.stored().fit(path);
                    let better = matches!(
                        (fit, said),
                        (Fit::Exact, Fit::Rounded) | (Fit::Rounded | Fit::Exact, Fit::QuantizedAgain)
                    );
                    assert!(fit == said || better, "{method:?} {path}: {fit}, and {said} was said");
                }
            }
        }
    }
}

#[test]
fn groups_are_split_into_the_largest_that_paths_know() {
    let (n, k) = (32, 1024);
    let recipe = Recipe::new(Method::Gptq(ZeroPoints::AsTheyAre), 256, false).unwrap();
    let mut made = make(&recipe, "w", (n, k), &weights(n, k));
    // One group a row: the first group's scales serve all of it.
    let config = serde_json::json!({ "quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": -1, "checkpoint_format": "gptq_v2",
    }});
    for Given(name, _, shape, bytes) in &mut made.tensors {
        if name.ends_with("scales") || name.ends_with("qzeros") {
            bytes.truncate(bytes.len() / shape[0]);
            shape[0] = 1;
        }
    }
    made.tensors.retain(|tensor| !tensor.0.ends_with("g_idx"));
    let folder = Folder::new(&config, &made.tensors);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (n, k)).unwrap();
    assert_eq!(linear.group(), Some(k));
    let converted = linear.to_w4a8(64).unwrap();
    assert_eq!((converted.weights.view().group(), converted.fit), (256, Fit::Exact));
    assert_eq!(values(&linear, PathKind::W4A8, Layout::Avx2).0, decoded(&linear));
}

#[test]
fn offsets_of_zero_are_zero_points_of_eight() {
    let (n, k) = (32, 64);
    let recipe = Recipe::new(Method::CpuInt4, 64, true).unwrap();
    let mut made = make(&recipe, "w", (n, k), &weights(n, k));
    let zeros = made.tensors.iter_mut().find(|tensor| tensor.0.ends_with("weight_zero")).unwrap();
    zeros.3.fill(0);
    let folder = Folder::new(&config(&recipe), &made.tensors);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (n, k)).unwrap();
    for path in [PathKind::W4A16, PathKind::W4A8] {
        let (found, fit) = values(&linear, path, Layout::Scalar);
        assert_eq!((found, fit), (decoded(&linear), Fit::Exact), "{path}");
    }
}

#[test]
fn floats_are_quantized_in_the_groups_asked_for() {
    let (n, k) = (32, 128);
    let bytes = weights(n, k).iter().flat_map(|w| w.to_le_bytes()).collect();
    let tensor = Given("w.weight".into(), safetensors::Dtype::F32, vec![n, k], bytes);
    let folder = Folder::new(&serde_json::json!({}), &[tensor]);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (n, k)).unwrap();
    let converted = linear.to_w4a16(Layout::Avx512, 128).unwrap();
    assert_eq!((converted.weights.view().group(), converted.fit), (128, Fit::Quantized));
    for path in PathKind::ALL {
        assert_eq!(values(&linear, path, Layout::Avx2).1, Fit::Quantized, "{path}");
    }
    for group in [0, 16, 96] {
        assert!(linear.to_w4a16(Layout::Avx2, group).is_err() && linear.to_w4a8(group).is_err(), "{group}");
        assert!(linear.to_wna16(group).is_err(), "{group}");
    }
}
