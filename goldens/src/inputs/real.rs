//! Rows of SmolLM2-135M-Instruct, whose k is 576.

use keepq_blocks::GgmlType;

use crate::naive::{NaiveType, rms_norm};

/// Eight rows of `blk.0.attn_q.weight`.
const Q4_1: &[u8] = include_bytes!("../../data/smollm2-q4_1.bin");
/// The embeddings of "The capital of France is": five rows of `token_embd.weight`.
const Q8_0: &[u8] = include_bytes!("../../data/smollm2-q8_0.bin");
/// `blk.0.attn_norm.weight`.
const F32: &[u8] = include_bytes!("../../data/smollm2-f32.bin");

/// Elements of a row.
const K: usize = 576;

/// The model's rows of this type, with their k; none where it has none.
#[must_use]
pub fn real_rows(ty: &NaiveType) -> Option<(usize, Vec<&'static [u8]>)> {
    let bytes = match ty.ty {
        GgmlType::F32 => F32,
        GgmlType::Q4_1 => Q4_1,
        GgmlType::Q8_0 => Q8_0,
        _ => return None,
    };
    Some((K, bytes.chunks(K / ty.elements * ty.bytes).collect()))
}

/// What the first layer's matrices read for "The capital of France is": the norms of the embeddings.
#[must_use]
pub fn real_tokens() -> Vec<Vec<f32>> {
    let decoded = |ty| {
        let naive = NaiveType::of(ty).expect("F32 and Q8_0 are there");
        let (_, rows) = real_rows(naive).expect("the model has both");
        rows.into_iter().map(|row| naive.decode_row(row)).collect::<Vec<_>>()
    };
    let weight = &decoded(GgmlType::F32)[0];
    decoded(GgmlType::Q8_0).iter().map(|x| rms_norm(x, weight, 1.0e-5)).collect()
}
