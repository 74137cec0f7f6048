//! Q5_1: 32 codes of five bits, a scale and a minimum, `w = d * q + m`.

use bytemuck::{Pod, Zeroable};

use crate::q5_0::{five_bits, pack_five_bits};
use crate::{Block, F16, GgmlType};

/// 32 elements in 24 bytes: 6 bits a weight.
///
/// ```text
/// byte 0    2    4       8                    24
///      | d  | m  | qh    | qs[0] … qs[15]     |     w[j]      = d * (qs[j] & 15 | h[j] << 4) + m        for j < 16
///       f16  f16   1 bit   two nibbles each         w[j + 16] = d * (qs[j] >> 4 | h[j + 16] << 4) + m
///                  each                             h[j]      = qh[j / 8] >> (j % 8) & 1
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ5_1 {
    /// The scale.
    pub d: F16,
    /// The minimum.
    pub m: F16,
    /// The fifth bits of the codes: element j has bit j of the 32, counted from the lowest bit of the first byte.
    pub qh: [u8; 4],
    /// The lower four bits of the codes: elements 0 to 15 in the low nibbles, 16 to 31 in the high ones.
    pub qs: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ5_1>() == 24 && align_of::<BlockQ5_1>() == 1);

impl Block for BlockQ5_1 {
    const TYPE: GgmlType = GgmlType::Q5_1;
    const LEN: usize = 32;
    type Floats = [f32; 32];

    #[inline]
    fn decode(&self) -> [f32; 32] {
        let (d, m) = (self.d.to_f32(), self.m.to_f32());
        self.codes().map(|q| f32::from(q) * d + m)
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite() && self.m.is_finite()
    }
}

impl BlockQ5_1 {
    /// The codes, 0 to 31, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 32] {
        five_bits(self.qh, &self.qs)
    }

    /// Quantizes 32 finite elements: `d = (max - min) / 31`, codes `(x - min) * (1 / d)` rounded half up.
    ///
    /// Bytes equal those of ggml's `quantize_row_q5_1_ref`. A block whose range is so small that `1 / d` is not finite,
    /// or so large that it overflows, gets codes 0 (ggml's result is undefined there, but for a range of 0).
    #[must_use]
    pub fn encode(x: &[f32; 32]) -> Self {
        // Comparisons, not `f32::min`: of 0.0 and -0.0 the first one met is kept, as in ggml.
        let min = x.iter().fold(f32::MAX, |min, &v| if v < min { v } else { min });
        let max = x.iter().fold(-f32::MAX, |max, &v| if v > max { v } else { max });
        let d = (max - min) / 31.0;
        let inverse = 1.0 / d;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        // The cast truncates, and sends the NaN of a range that overflows to 0. The largest product is 31 and a few units
        // of its last place, so that no code needs a limit.
        let (qh, qs) = pack_five_bits(x.map(|v| ((v - min) * inverse + 0.5) as u8));
        Self { d: F16::from_f32(d), m: F16::from_f32(min), qh, qs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_no_bias() {
        let mut block = BlockQ5_1 { d: F16::from_f32(0.5), m: F16::from_f32(-3.0), qh: [0, 0, 0, 0x80], qs: [0; 16] };
        block.qs[15] = 0xf2;
        let w = block.decode();
        assert_eq!((w[0], w[15], w[31]), (-3.0, -2.0, 12.5));
    }

    #[test]
    fn the_extremes_become_0_and_31() {
        let x = core::array::from_fn(|j| 2.0 + 2.0 * j as f32);
        let block = BlockQ5_1::encode(&x);
        assert_eq!(block.codes(), core::array::from_fn(|j| j as i8));
        assert_eq!((block.d.to_f32(), block.m.to_f32()), (2.0, 2.0));
    }

    #[test]
    fn a_constant_block_is_its_minimum() {
        let block = BlockQ5_1::encode(&[0.5; 32]);
        assert_eq!(block.decode(), [0.5; 32]);
        assert_eq!((block.qh, block.qs), ([0; 4], [0; 16]));
    }

    #[test]
    fn a_range_that_cannot_be_inverted_or_overflows_has_codes_0() {
        for (low, high) in [(0.0, f32::from_bits(1)), (1e-40, 2e-40), (-3e38, 3e38)] {
            let mut x = [low; 32];
            x[17] = high;
            assert_eq!(BlockQ5_1::encode(&x).codes(), [0; 32], "{low:e} {high:e}");
        }
    }
}
