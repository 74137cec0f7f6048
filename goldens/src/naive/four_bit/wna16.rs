//! The fallback: words of sixteen rows, weights rounded to bf16.

use crate::naive::{bf16_bits, bf16_value};

/// The words of codes `[n][k]`.
pub(crate) fn pack(codes: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for rows in codes.chunks(16) {
        for i in 0..rows[0].len() {
            for two in rows.chunks(2) {
                bytes.push(two[0][i] + 16 * two[1][i]);
            }
        }
    }
    bytes
}

/// The dot of a row and a token, before it is rounded to bf16. `groups[g]` are the scale and the zero point of each group of codes.
pub(crate) fn dot(codes: &[u8], groups: &[(f32, u8)], x: &[f32]) -> f32 {
    let group = codes.len() / groups.len().max(1);
    let mut y = 0.0;
    for (i, (&code, &x)) in codes.iter().zip(x).enumerate() {
        let (scale, zero) = groups[i / group];
        let weight = (f32::from(code) - f32::from(zero)) * scale;
        y = libm::fmaf(x, bf16_value(&bf16_bits(weight).to_le_bytes()), y);
    }
    y
}
