//! Rows of SmolLM2-135M-Instruct, whose k is 576.

use keepq_blocks::GgmlType;

use super::weights::encoded;
use crate::naive::{DECODED_TYPES, NaiveType, rms_norm};

/// Eight rows of `blk.0.attn_q.weight`.
const Q4_1: &[u8] = include_bytes!("../../data/smollm2-q4_1.bin");
/// The embeddings of "The capital of France is": five rows of `token_embd.weight`.
const Q8_0: &[u8] = include_bytes!("../../data/smollm2-q8_0.bin");
/// `blk.0.attn_norm.weight`.
const F32: &[u8] = include_bytes!("../../data/smollm2-f32.bin");

/// Elements of a row.
const K: usize = 576;

/// Rows of this type, with their k; none where there is no encoder.
///
/// The model has F32, Q4_1 and Q8_0. For other types the Q4_1 rows are encoded, end to end and cut every three blocks where
/// a block is a super-block, which 576 is no multiple of.
#[must_use]
pub fn real_rows(ty: &NaiveType) -> Option<(usize, Vec<Vec<u8>>)> {
    let k = if ty.elements == 256 { 3 * 256 } else { K };
    let bytes = match ty.ty {
        GgmlType::F32 => F32,
        GgmlType::Q4_1 => Q4_1,
        GgmlType::Q8_0 => Q8_0,
        other if DECODED_TYPES.iter().any(|ty| ty.ty == other) => return None,
        _ => &encoded(ty, &real_weights()),
    };
    Some((k, bytes.chunks(k / ty.elements * ty.bytes).map(<[u8]>::to_vec).collect()))
}

/// The elements of the model's Q4_1 rows.
#[must_use]
pub fn real_weights() -> Vec<f32> {
    naive(GgmlType::Q4_1).decode_row(Q4_1)
}

/// What the first layer's matrices read for "The capital of France is": the norms of the embeddings, end to end and cut every
/// `k` elements.
#[must_use]
pub fn real_tokens(k: usize) -> Vec<Vec<f32>> {
    let weight = naive(GgmlType::F32).decode_row(F32);
    let embeddings = naive(GgmlType::Q8_0).decode_row(Q8_0);
    let tokens: Vec<f32> = embeddings.chunks(K).flat_map(|x| rms_norm(x, &weight, 1.0e-5)).collect();
    tokens.chunks_exact(k).map(<[f32]>::to_vec).collect()
}

fn naive(ty: GgmlType) -> &'static NaiveType {
    NaiveType::of(ty).expect("the model's types have a naive implementation")
}
