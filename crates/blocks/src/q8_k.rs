//! Q8_K: 256 signed bytes, an f32 scale, and sums of 16. Never a storage type: ggml's form of activations for K-quants.

use bytemuck::{Pod, Zeroable};

use crate::BlockF32;
use crate::k_quants::round::nearest_int;
use crate::q4_0::signed_extreme;

/// 256 activations in 292 bytes.
///
/// ```text
/// byte 0     4                       260                        292
///      | d   | qs[0] … qs[255]       | bsums[0] … bsums[15]     |     x[j]     = d * qs[j]
///       f32    i8                      i16                            bsums[i] = qs[16 * i] + … + qs[16 * i + 15]
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockQ8_K {
    /// The scale; negative where the element of largest magnitude is positive.
    pub d: BlockF32,
    /// The codes, in the order of k.
    pub qs: [i8; 256],
    /// The sums of 16 codes, little-endian.
    pub bsums: [[u8; 2]; 16],
}

const _: () = assert!(size_of::<BlockQ8_K>() == 292 && align_of::<BlockQ8_K>() == 1);

impl BlockQ8_K {
    /// Quantizes 256 finite elements, as [`codes`](Self::codes) does, and adds up the codes.
    ///
    /// Bytes equal those of ggml's `quantize_row_q8_K_ref`, the sums of a block of zeros included, which ggml leaves as
    /// they were and which are 0 here.
    #[must_use]
    pub fn encode(x: &[f32; 256]) -> Self {
        let (d, qs) = Self::codes(x);
        // At most 16 * 127 in magnitude.
        let sum = |i: usize| qs[16 * i..][..16].iter().map(|&q| i16::from(q)).sum::<i16>();
        Self { d: BlockF32::from_f32(d), qs, bsums: core::array::from_fn(|i| sum(i).to_le_bytes()) }
    }

    /// The scale and the codes of 256 finite elements: `i = -127 / extreme`, with `extreme` the element of largest magnitude
    /// (of two the first one), codes `x * i` rounded half to even, scale `1 / i`.
    ///
    /// Codes are within -127 to 127, whatever the elements. A block whose extreme is so small that `i` is not finite
    /// (below about 3.7e-37) gets scale 0 and codes 0; ggml's result is undefined there, but for a block of zeros.
    ///
    /// Elements that are not finite have no defined result. ggml would hide a NaN as a code 0; who quantizes activations
    /// gives such a block the scale NaN and codes 0 instead of calling this (as `keepq-act` does), so that it poisons the
    /// outputs that read it.
    #[inline(always)]
    #[must_use]
    pub fn codes(x: &[f32; 256]) -> (f32, [i8; 256]) {
        let inverse = -127.0 / signed_extreme(x);
        if !inverse.is_finite() {
            return (0.0, [0; 256]);
        }
        // Products of finite elements are at most 127 and a few units of the last place: the limits are for NaN alone.
        (1.0 / inverse, x.map(|v| nearest_int(v * inverse).clamp(-127, 127) as i8))
    }

    /// The sums of 16 codes each, as stored.
    #[must_use]
    pub fn sums(&self) -> [i16; 16] {
        self.bsums.map(i16::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extreme_becomes_minus_127() {
        let mut x = [0.0; 256];
        (x[3], x[100], x[255]) = (8.0, -8.0, 4.0);
        let block = BlockQ8_K::encode(&x);
        // 4.0 is -63.5 steps, a tie.
        assert_eq!((block.qs[3], block.qs[100], block.qs[255], block.qs[0]), (-127, 127, -64, 0));
        assert_eq!(block.d.to_f32(), 1.0 / (-127.0 / 8.0));
        let mut sums = [0; 16];
        (sums[0], sums[6], sums[15]) = (-127, 127, -64);
        assert_eq!(block.sums(), sums);
    }

    #[test]
    fn a_zero_block_and_a_block_too_small_to_invert_are_zero() {
        for tiny in [0.0, -0.0, f32::from_bits(1), 3.7e-37, -3.7e-37] {
            assert_eq!(BlockQ8_K::encode(&[tiny; 256]), BlockQ8_K::zeroed(), "{tiny:e}");
        }
        assert_eq!(BlockQ8_K::encode(&[3.8e-37; 256]).qs, [-127; 256]);
    }

    #[test]
    fn codes_are_in_range_whatever_the_elements() {
        for odd in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::INFINITY, f32::NEG_INFINITY] {
            let mut x: [f32; 256] = core::array::from_fn(|j| j as f32);
            x[7] = odd;
            let (_, codes) = BlockQ8_K::codes(&x);
            assert!(codes.iter().all(|q| (-127..=127).contains(q)), "{odd}");
        }
    }
}
