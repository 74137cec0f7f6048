//! Blocks of 256: Q8_K, for K-quants.

use keepq_blocks::{BlockF32, BlockQ8_K};

use crate::q8_0::all_finite;

/// Scale and codes of 256 elements.
///
/// `i = -127 / extreme`, with `extreme` the element of largest magnitude, codes `x * i` rounded half to even, scale `1 / i`,
/// as ggml's `quantize_row_q8_K_ref`. Where `i` is not finite: scale 0, codes 0. With any element that is not finite:
/// scale NaN, codes 0.
#[inline(always)]
#[must_use]
pub fn quantize_super_block(x: &[f32; 256]) -> (f32, [i8; 256]) {
    if all_finite(x) { BlockQ8_K::codes(x) } else { (f32::NAN, [0; 256]) }
}

/// Quantizes whole blocks of activations to ggml's own form, whose bytes equal those of `quantize_row_q8_K_ref`.
///
/// Only for exchange with ggml: no kernel here reads it. A block with an element that is not finite gets NaN for `d`, where
/// ggml hides it. Elements past the last whole block, and blocks past the last element, are left alone.
pub fn quantize_row_q8_k(x: &[f32], out: &mut [BlockQ8_K]) {
    for (x, block) in x.as_chunks::<256>().0.iter().zip(out) {
        *block = BlockQ8_K::encode(if all_finite(x) { x } else { &[0.0; 256] });
        if !all_finite(x) {
            block.d = BlockF32::from_f32(f32::NAN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_that_is_not_finite_poisons_its_block_only() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = [1.0; 512];
            x[200] = bad;
            let (scale, codes) = quantize_super_block(x.first_chunk().unwrap());
            assert!(scale.is_nan() && codes == [0; 256]);

            let mut out = [BlockQ8_K::encode(&[3.0; 256]); 2];
            quantize_row_q8_k(&x, &mut out);
            assert!(out[0].d.to_f32().is_nan() && out[0].qs == [0; 256] && out[0].sums() == [0; 16]);
            assert_eq!(out[1], BlockQ8_K::encode(&[1.0; 256]));
        }
    }
}
