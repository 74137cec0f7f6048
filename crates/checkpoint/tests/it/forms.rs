//! Where each form keeps the code of `w[n,k]`, by the published formulas and nothing of this crate.

use keepq_checkpoint::{Form, Method, ZeroPoints};
use safetensors::Dtype;
use serde_json::json;

use crate::folder::{Folder, Given};

const N: usize = 16;
const K: usize = 64;
const GROUP: usize = 32;

fn code(n: usize, k: usize) -> u32 {
    ((n * 7 + k * 5 + k / 8) % 16) as u32
}

fn zero(n: usize, group: usize) -> u32 {
    ((n * 3 + group * 11) % 16) as u32
}

/// A power of two, which every type holds.
fn scale(n: usize, group: usize) -> f32 {
    2.0_f32.powi((n % 4) as i32 - 3 - group as i32)
}

fn words(rows: usize, columns: usize, word: impl Fn(usize, usize) -> u32) -> Vec<u8> {
    (0..rows * columns).flat_map(|i| word(i / columns, i % columns).to_le_bytes()).collect()
}

fn scales() -> Given {
    let bytes = (0..K / GROUP * N).flat_map(|i| half::f16::from_f32(scale(i % N, i / N)).to_le_bytes());
    Given("w.scales".into(), Dtype::F16, vec![K / GROUP, N], bytes.collect())
}

fn expect_weights(config: &serde_json::Value, tensors: &[Given], zero: impl Fn(usize, usize) -> u32) {
    let folder = Folder::new(config, tensors);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (N, K)).unwrap();
    let mut row = vec![0.0; K];
    for n in 0..N {
        linear.decode_row(n, &mut row);
        for (k, found) in row.iter().enumerate() {
            let level = code(n, k) as f32 - zero(n, k / GROUP) as f32;
            assert_eq!(*found, level * scale(n, k / GROUP), "row {n}, column {k}");
        }
    }
}

/// The tensors of GPTQ, zero points stored as they are given.
fn gptq(stored_zero: impl Fn(usize, usize) -> u32) -> [Given; 3] {
    let qweight = words(K / 8, N, |row, n| (0..8).map(|j| code(n, 8 * row + j) << (4 * j)).sum());
    let qzeros =
        words(K / GROUP, N / 8, |group, word| (0..8).map(|j| stored_zero(8 * word + j, group) << (4 * j)).sum());
    [
        Given("w.qweight".into(), Dtype::I32, vec![K / 8, N], qweight),
        Given("w.qzeros".into(), Dtype::I32, vec![K / GROUP, N / 8], qzeros),
        scales(),
    ]
}

#[test]
fn gptq_by_its_label() {
    let config = |format: &str| {
        json!({ "quantization_config": {
            "quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": false, "checkpoint_format": format,
        }})
    };
    expect_weights(&config("gptq_v2"), &gptq(zero), zero);
    // One less; 0 becomes 15.
    expect_weights(&config("gptq"), &gptq(|n, group| (zero(n, group) + 15) % 16), zero);

    let older = json!({ "quantization_config": { "bits": 4, "group_size": GROUP, "desc_act": false } });
    expect_weights(&older, &gptq(|n, group| (zero(n, group) + 15) % 16), zero);
}

#[test]
fn the_label_of_gptq_can_be_overridden_and_is_doubted() {
    let config = json!({ "quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": GROUP, "sym": true, "checkpoint_format": "gptq",
    }});
    let doubt = |stored: u32, zero_points: Option<ZeroPoints>| {
        let folder = Folder::new(&config, &gptq(|_, _| stored));
        let files = folder.open().unwrap();
        let mut checkpoint = files.parse().unwrap();
        if let Some(zero_points) = zero_points {
            checkpoint = checkpoint.with_zero_points(zero_points);
            assert_eq!(checkpoint.quantization().method, Method::Gptq(zero_points));
        }
        let linear = checkpoint.linear("w", (N, K)).unwrap();
        let Form::Gptq(w) = linear.form() else { panic!("{linear:?}") };
        (w.zero(3, 1), linear.doubt(checkpoint.quantization().symmetric))
    };
    assert_eq!(doubt(7, None), (8, None));
    let (zero, doubted) = doubt(8, None);
    assert_eq!(zero, 9);
    let text =
        "w: all zero points are stored as 8, which the label makes 9; symmetric weights have 8: is the label wrong?";
    assert_eq!(doubted.as_deref(), Some(text));
    assert_eq!(doubt(8, Some(ZeroPoints::AsTheyAre)), (8, None));
    assert_eq!(doubt(7, Some(ZeroPoints::AsTheyAre)).0, 7);
}

#[test]
fn awq_interleaves_the_channels_of_a_word() {
    // The order in which AutoAWQ packs eight channels: nibble i holds channel ORDER[i].
    const ORDER: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
    let word = |of: &dyn Fn(usize) -> u32, first: usize| (0..8).map(|i| of(first + ORDER[i]) << (4 * i)).sum::<u32>();
    let qweight = words(K, N / 8, |k, at| word(&|n| code(n, k), 8 * at));
    let qzeros = words(K / GROUP, N / 8, |group, at| word(&|n| zero(n, group), 8 * at));
    let config = json!({ "quantization_config": {
        "quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": true, "version": "gemm",
    }});
    let tensors = [
        Given("w.qweight".into(), Dtype::I32, vec![K, N / 8], qweight),
        Given("w.qzeros".into(), Dtype::I32, vec![K / GROUP, N / 8], qzeros),
        scales(),
    ];
    expect_weights(&config, &tensors, zero);
}

#[test]
fn cpu_int4_has_offsets() {
    let packed = (0..N * K / 2).map(|i| {
        let (n, k) = (i / (K / 2), i % (K / 2) * 2);
        (code(n, k) | code(n, k + 1) << 4) as u8
    });
    let bf16s = |of: &dyn Fn(usize, usize) -> f32| {
        let groups = K / GROUP;
        (0..N * groups).flat_map(|i| half::bf16::from_f32(of(i / groups, i % groups)).to_le_bytes()).collect::<Vec<_>>()
    };
    // (q - 8) * s + z is (q - zero) * s.
    let offset = |n, group| (8.0 - zero(n, group) as f32) * scale(n, group);
    let tensors = [
        Given("w.weight_packed".into(), Dtype::U8, vec![N, K / 2], packed.collect()),
        Given("w.weight_scale".into(), Dtype::BF16, vec![N, K / GROUP], bf16s(&scale)),
        Given("w.weight_zero".into(), Dtype::BF16, vec![N, K / GROUP], bf16s(&offset)),
    ];
    let config = json!({ "quantization_config": { "quant_method": "cpu_int4", "group_size": GROUP } });
    expect_weights(&config, &tensors, zero);
}

#[test]
fn floats_are_floats() {
    let bytes: Vec<u8> = (0..6).flat_map(|i| half::bf16::from_f32(i as f32).to_le_bytes()).collect();
    let folder = Folder::new(&json!({}), &[Given("w.weight".into(), Dtype::BF16, vec![2, 3], bytes)]);
    let files = folder.open().unwrap();
    let checkpoint = files.parse().unwrap();
    assert_eq!(checkpoint.quantization().method, Method::None);
    let linear = checkpoint.linear("w", (2, 3)).unwrap();
    let mut row = [0.0; 3];
    linear.decode_row(1, &mut row);
    assert_eq!((row, linear.group(), linear.bytes()), ([3.0, 4.0, 5.0], None, 12));
}

#[test]
fn a_model_in_several_files_and_an_older_file_beside_it() {
    let folder = Folder::new(&json!({}), &[]);
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let [qweight, qzeros, scales] = gptq(zero);
    folder.write("one.safetensors", &[qweight]);
    folder.write("two.safetensors", &[qzeros, scales]);
    let index = json!({ "weight_map": {
        "w.qweight": "one.safetensors", "w.qzeros": "two.safetensors", "w.scales": "two.safetensors",
    }});
    std::fs::write(folder.path().join("model.safetensors.index.json"), index.to_string()).unwrap();
    let quantize = json!({ "bits": 4, "group_size": GROUP, "desc_act": false, "checkpoint_format": "gptq_v2" });
    std::fs::write(folder.path().join("quantize_config.json"), quantize.to_string()).unwrap();

    let files = folder.open().unwrap();
    assert_eq!(files.sources().len(), 2);
    let checkpoint = files.parse().unwrap();
    assert_eq!(checkpoint.names().count(), 3);
    assert_eq!(checkpoint.parts_of("w").collect::<Vec<_>>(), ["w.qweight", "w.qzeros", "w.scales"]);
    let linear = checkpoint.linear("w", (N, K)).unwrap();
    let mut row = vec![0.0; K];
    linear.decode_row(5, &mut row);
    assert_eq!(row[33], (code(5, 33) as f32 - zero(5, 1) as f32) * scale(5, 1));
}
