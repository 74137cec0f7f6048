//! Q4_0: 32 nibbles and a scale, `w = d * (q - 8)`.

use bytemuck::{Pod, Zeroable};

use crate::{Block, F16, GgmlType};

/// 32 elements in 18 bytes: 4.5 bits a weight.
///
/// ```text
/// byte 0    2                    18
///      | d  | qs[0] … qs[15]     |     w[j]      = d * ((qs[j] & 15) - 8)   for j < 16
///       f16   two nibbles each         w[j + 16] = d * ((qs[j] >> 4) - 8)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ4_0 {
    /// The scale.
    pub d: F16,
    /// The codes plus 8: elements 0 to 15 in the low nibbles, 16 to 31 in the high ones.
    pub qs: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ4_0>() == 18 && align_of::<BlockQ4_0>() == 1);

impl Block for BlockQ4_0 {
    const TYPE: GgmlType = GgmlType::Q4_0;
    const LEN: usize = 32;
    type Floats = [f32; 32];

    #[inline]
    fn decode(&self) -> [f32; 32] {
        let d = self.d.to_f32();
        self.codes().map(|q| f32::from(q) * d)
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite()
    }
}

impl BlockQ4_0 {
    /// The codes, -8 to 7, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 32] {
        let mut codes = [0; 32];
        for (code, nibble) in codes.iter_mut().zip(nibbles(&self.qs)) {
            *code = nibble as i8 - 8;
        }
        codes
    }

    /// Quantizes 32 finite elements: `d = extreme / -8`, with `extreme` the element of largest magnitude, codes
    /// `x * (1 / d)` rounded half up and at most 7. The extreme itself becomes -8, the one code without a counterpart.
    ///
    /// Bytes equal those of ggml's `quantize_row_q4_0_ref`; of two extremes the first one counts. A block that is so small
    /// that `1 / d` is not finite gets codes 0 (ggml's result is undefined there, but for a block of zeros).
    #[must_use]
    pub fn encode(x: &[f32; 32]) -> Self {
        let d = signed_extreme(x) / -8.0;
        let inverse = 1.0 / d;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        // The sum is positive, so that the cast, which truncates, rounds half up.
        let code = |v: f32| ((v * inverse + 8.5) as u8).min(15);
        Self { d: F16::from_f32(d), qs: pack_nibbles(x.map(code)) }
    }
}

/// The nibbles in the order of k: 16 low ones, then 16 high ones.
#[inline(always)]
pub(crate) fn nibbles(qs: &[u8; 16]) -> [u8; 32] {
    let mut nibbles = [0; 32];
    for (j, &byte) in qs.iter().enumerate() {
        nibbles[j] = byte & 15;
        nibbles[j + 16] = byte >> 4;
    }
    nibbles
}

/// The inverse of [`nibbles`]; bits above the fourth are dropped.
pub(crate) fn pack_nibbles(nibbles: [u8; 32]) -> [u8; 16] {
    core::array::from_fn(|j| nibbles[j] & 15 | nibbles[j + 16] << 4)
}

/// The element of largest magnitude with its sign, of equal magnitudes the first one; 0.0 where there are only zeros.
///
/// One chain of comparisons, as it is usually written, takes 430 ns for 256 elements; eight maxima side by side, then a
/// search for the sign, take 60.
#[inline(always)]
pub(crate) fn signed_extreme<const N: usize>(x: &[f32; N]) -> f32 {
    const { assert!(N.is_multiple_of(8)) };
    let mut maxima = [0.0_f32; 8];
    for eight in x.as_chunks::<8>().0 {
        for (max, v) in maxima.iter_mut().zip(eight) {
            if v.abs() > *max {
                *max = v.abs();
            }
        }
    }
    let amax = maxima.into_iter().fold(0.0, |max, v| if v > max { v } else { max });
    let extreme = x.iter().copied().find(|v| v.abs() == amax).unwrap_or(0.0);
    // Of -0.0 this makes 0.0.
    extreme + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_are_split_in_halves_and_biased_by_8() {
        let mut block = BlockQ4_0 { d: F16::from_f32(0.5), qs: [0x88; 16] };
        block.qs[2] = 0xf0;
        let w = block.decode();
        assert_eq!((w[1], w[2], w[18], w[19]), (0.0, -4.0, 3.5, 0.0));
        assert_eq!(pack_nibbles(nibbles(&block.qs)), block.qs);
    }

    #[test]
    fn the_extreme_becomes_minus_8_and_its_opposite_7() {
        let mut x = [0.0; 32];
        (x[3], x[20], x[31]) = (4.0, -4.0, 0.25);
        let block = BlockQ4_0::encode(&x);
        let codes = block.codes();
        assert_eq!((codes[3], codes[20], codes[31], codes[0]), (-8, 7, 0, 0));
        assert_eq!(block.d.to_f32(), -0.5);
    }

    #[test]
    fn a_block_too_small_to_invert_has_codes_0() {
        for tiny in [0.0, -0.0, f32::from_bits(1), 1e-38, -1e-38] {
            let block = BlockQ4_0::encode(&[tiny; 32]);
            assert_eq!(block.codes(), [0; 32], "{tiny:e}");
            assert_eq!(block.d.to_f32(), 0.0, "{tiny:e}");
        }
        // Whatever the sign of the zeros, ggml divides 0.0 by -8.
        assert_eq!(BlockQ4_0::encode(&[-0.0; 32]).d, F16::from_f32(-0.0));
    }

    #[test]
    fn the_extreme_is_the_first_of_equal_magnitude_wherever_it_lies() {
        for first in 0..31 {
            let mut x: [f32; 32] = core::array::from_fn(|j| (j as f32 - 15.5) / 16.0);
            (x[first], x[31]) = (-2.0, 2.0);
            assert_eq!(signed_extreme(&x), -2.0, "{first}");
            (x[first], x[31]) = (2.0, -2.0);
            assert_eq!(signed_extreme(&x), 2.0, "{first}");
        }
    }
}
