//! Q4_1: 32 nibbles, a scale and a minimum, `w = d * q + m`.

use bytemuck::{Pod, Zeroable};

use crate::{Block, F16, GgmlType};

/// 32 elements in 20 bytes: 5 bits a weight.
///
/// ```text
/// byte 0    2    4                    20
///      | d  | m  | qs[0] … qs[15]     |     w[j]      = d * (qs[j] & 15) + m   for j < 16
///       f16  f16   two nibbles each         w[j + 16] = d * (qs[j] >> 4) + m
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ4_1 {
    /// The scale.
    pub d: F16,
    /// The minimum.
    pub m: F16,
    /// The codes: elements 0 to 15 in the low nibbles, 16 to 31 in the high ones.
    pub qs: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ4_1>() == 20 && align_of::<BlockQ4_1>() == 1);

impl Block for BlockQ4_1 {
    const TYPE: GgmlType = GgmlType::Q4_1;
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

impl BlockQ4_1 {
    /// The codes, 0 to 15, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 32] {
        let mut codes = [0; 32];
        for (j, &byte) in self.qs.iter().enumerate() {
            codes[j] = (byte & 15) as i8;
            codes[j + 16] = (byte >> 4) as i8;
        }
        codes
    }

    /// Quantizes 32 finite elements: `d = (max - min) / 15`, codes `(x - min) * (1 / d)` rounded half up.
    ///
    /// Bytes equal those of ggml's `quantize_row_q4_1_ref`. A block whose range is so small that `1 / d` is not finite,
    /// or so large that it overflows, gets codes 0 (ggml's result is undefined there).
    #[must_use]
    pub fn encode(x: &[f32; 32]) -> Self {
        // Comparisons, not `f32::min`: of 0.0 and -0.0 the first one met is kept, as in ggml.
        let min = x.iter().fold(f32::MAX, |min, &v| if v < min { v } else { min });
        let max = x.iter().fold(-f32::MAX, |max, &v| if v > max { v } else { max });
        let d = (max - min) / 15.0;
        let inverse = 1.0 / d;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        // The cast truncates, and sends the NaN of a range that overflows to 0.
        let code = |v: f32| (((v - min) * inverse + 0.5) as i8).min(15) as u8;
        let qs = core::array::from_fn(|j| code(x[j]) | code(x[j + 16]) << 4);
        Self { d: F16::from_f32(d), m: F16::from_f32(min), qs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_are_split_in_halves() {
        let mut block = BlockQ4_1 { d: F16::from_f32(1.0), m: F16::from_f32(-3.0), qs: [0; 16] };
        block.qs[2] = 0xa5;
        let w = block.decode();
        assert_eq!((w[1], w[2], w[18], w[19]), (-3.0, 2.0, 7.0, -3.0));
    }

    #[test]
    fn the_extremes_become_0_and_15() {
        let x = core::array::from_fn(|j| 2.0 + j as f32);
        let block = BlockQ4_1::encode(&x);
        let codes = block.codes();
        assert_eq!((codes[0], codes[31]), (0, 15));
        assert_eq!((block.d.to_f32(), block.m.to_f32()), (F16::from_f32(31.0 / 15.0).to_f32(), 2.0));
    }

    #[test]
    fn a_constant_block_is_its_minimum() {
        let block = BlockQ4_1::encode(&[0.5; 32]);
        assert_eq!(block.decode(), [0.5; 32]);
        assert_eq!(block.qs, [0; 16]);
    }
}
