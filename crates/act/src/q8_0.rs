//! Blocks of 32: Q8_0, which also stands for Q8_1.

use keepq_blocks::{BlockQ8_0, BlockQ8_1, F16};

/// Scale (rounded to f16) and codes of 32 elements.
///
/// `d = amax / 127` and codes `x * (1 / d)` rounded half away from zero, as ggml's `quantize_row_q8_0_ref`.
/// Where 1 / d is not finite: scale 0, codes 0. With any element that is not finite: scale NaN, codes 0.
#[inline(always)]
#[must_use]
pub fn quantize_block(x: &[f32; 32]) -> (f32, [i8; 32]) {
    if !all_finite(x) {
        return (f32::NAN, [0; 32]);
    }
    let (d, codes) = BlockQ8_0::codes(x);
    (F16::from_f32(d).to_f32(), codes)
}

/// Quantizes whole blocks of activations to ggml's own form, whose bytes equal those of `quantize_row_q8_1_ref`.
///
/// Only for exchange with ggml: no kernel here reads it. A block with an element that is not finite gets NaN for
/// `d` and `s`. Elements past the last whole block, and blocks past the last element, are left alone.
pub fn quantize_row_q8_1(x: &[f32], out: &mut [BlockQ8_1]) {
    for (x, block) in x.as_chunks::<32>().0.iter().zip(out) {
        *block = if all_finite(x) {
            BlockQ8_1::encode(x)
        } else {
            let nan = F16::from_f32(f32::NAN);
            BlockQ8_1 { d: nan, s: nan, qs: [0; 32] }
        };
    }
}

/// Infinities and NaNs have the largest exponent: one integer maximum finds them all.
#[inline(always)]
pub(crate) fn all_finite(x: &[f32]) -> bool {
    let largest = x.iter().fold(0, |max, v| i32::max(max, (v.to_bits() & 0x7fff_ffff) as i32));
    largest < 0x7f80_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_that_is_not_finite_poisons_its_block_only() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in [0, 17, 31] {
                let mut x = [1.0; 32];
                x[at] = bad;
                let (scale, codes) = quantize_block(&x);
                assert!(scale.is_nan() && codes == [0; 32]);

                let mut out = [BlockQ8_1::encode(&[0.0; 32]); 2];
                let row: [f32; 64] = core::array::from_fn(|i| if i < 32 { x[i] } else { 2.0 });
                quantize_row_q8_1(&row, &mut out);
                assert!(out[0].d.to_f32().is_nan() && out[0].s.to_f32().is_nan() && out[0].qs == [0; 32]);
                assert_eq!(out[1], BlockQ8_1::encode(&[2.0; 32]));
            }
        }
    }

    #[test]
    fn the_largest_finite_elements_are_still_numbers() {
        let (scale, codes) = quantize_block(&[f32::MAX; 32]);
        assert_eq!((scale, codes), (f32::INFINITY, [127; 32])); // as f16 rounds the scale
    }
}
