//! Weights that AutoGPTQ and AutoAWQ packed: read as they read them, and packed to the same bytes.

use std::path::Path;

use keepq_checkpoint::{ZeroPoints, awq, gptq};
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::folder::{Folder, Given};

const N: usize = 32;
const K: usize = 128;
const GROUP: usize = 32;

/// The tensors of a file beside this one, and the weights that its maker reads them as.
fn given(file: &str) -> (Vec<Given>, Vec<f32>) {
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file)).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let dequantized =
        tensors.tensor("dequantized").unwrap().data().as_chunks().0.iter().map(|&w| f32::from_le_bytes(w));
    let given = tensors.tensors().into_iter().filter(|(name, _)| name != "dequantized");
    let given = given.map(|(name, view)| Given(name, view.dtype(), view.shape().to_vec(), view.data().to_vec()));
    (given.collect(), dequantized.collect())
}

/// That our reading is theirs, and the codes `[n, k]` and zero points `[n, groups]` of it.
fn expect_the_same(file: &str, quantization: &Value) -> (Vec<u8>, Vec<u8>, Vec<Given>) {
    let (tensors, expected) = given(file);
    let folder = Folder::new(&json!({ "quantization_config": quantization }), &tensors);
    let files = folder.open().unwrap();
    let linear = files.parse().unwrap().linear("w", (N, K)).unwrap();
    let mut row = vec![0.0; K];
    for (n, expected) in expected.chunks_exact(K).enumerate() {
        linear.decode_row(n, &mut row);
        assert_eq!(row, expected, "{file}, row {n}");
    }
    let (mut codes, mut zeros) = (vec![0; N * K], Vec::new());
    match linear.form() {
        keepq_checkpoint::Form::Gptq(w) => {
            w.codes(0..N, &mut codes);
            zeros.extend((0..N * K / GROUP).map(|i| w.zero(i / (K / GROUP), i % (K / GROUP))));
        }
        keepq_checkpoint::Form::Awq(w) => {
            w.codes(0..N, &mut codes);
            zeros.extend((0..N * K / GROUP).map(|i| w.zero(i / (K / GROUP), i % (K / GROUP))));
        }
        form => panic!("{form:?}"),
    }
    (codes, zeros, tensors)
}

fn bytes<'t>(tensors: &'t [Given], name: &str) -> &'t [u8] {
    &tensors.iter().find(|tensor| tensor.0 == name).unwrap().3
}

#[test]
fn auto_gptq() {
    let quantization = json!({ "quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": false });
    let (codes, zeros, tensors) = expect_the_same("gptq.safetensors", &quantization);
    assert_eq!(gptq::pack_codes(N, K, &codes), bytes(&tensors, "w.qweight"));
    assert_eq!(gptq::pack_zeros(N, &zeros, ZeroPoints::LessOne), bytes(&tensors, "w.qzeros"));
}

#[test]
fn auto_awq() {
    let quantization = json!({ "quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "GEMM" });
    let (codes, zeros, tensors) = expect_the_same("awq.safetensors", &quantization);
    assert_eq!(awq::pack_codes(N, K, &codes), bytes(&tensors, "w.qweight"));
    assert_eq!(awq::pack_codes(N, K / GROUP, &zeros), bytes(&tensors, "w.qzeros"));
}
