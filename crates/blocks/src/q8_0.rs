//! Q8_0: 32 signed bytes and a scale, `w = d * q`.

use bytemuck::{Pod, Zeroable};

use crate::{Block, F16, GgmlType};

/// 32 elements in 34 bytes: 8.5 bits a weight.
///
/// ```text
/// byte 0    2                    34
///      | d  | qs[0] … qs[31]     |     w[j] = d * qs[j]
///       f16   i8
/// ```
///
/// Files hold any i8, -128 included; the encoder writes -127 to 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ8_0 {
    /// The scale.
    pub d: F16,
    /// The codes, in the order of k.
    pub qs: [i8; 32],
}

const _: () = assert!(size_of::<BlockQ8_0>() == 34 && align_of::<BlockQ8_0>() == 1);

impl Block for BlockQ8_0 {
    const TYPE: GgmlType = GgmlType::Q8_0;
    const LEN: usize = 32;
    type Floats = [f32; 32];

    #[inline]
    fn decode(&self) -> [f32; 32] {
        let d = self.d.to_f32();
        self.qs.map(|q| f32::from(q) * d)
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite()
    }
}

impl BlockQ8_0 {
    /// Quantizes 32 finite elements: `d = amax / 127`, codes `x * (1 / d)` rounded half away from zero.
    ///
    /// Bytes equal those of ggml's `quantize_row_q8_0_ref`. The codes come from the f32 scale, before it is
    /// rounded to f16. A block whose `amax` is so small that `1 / d` is not finite gets scale 0 and codes 0
    /// (ggml's result is undefined there).
    #[must_use]
    pub fn encode(x: &[f32; 32]) -> Self {
        let (d, qs) = Self::codes(x);
        Self { d: F16::from_f32(d), qs }
    }

    /// The f32 scale and the codes of [`encode`](Self::encode), before the scale is rounded: what Q8_1 and
    /// quantized activations are made of as well.
    #[inline(always)]
    #[must_use]
    pub fn codes(x: &[f32; 32]) -> (f32, [i8; 32]) {
        // Bits of magnitudes are in the order of these: a maximum of integers vectorizes as one of floats does not.
        let amax = x.iter().fold(0, |max, v| i32::max(max, v.abs().to_bits().cast_signed()));
        let d = f32::from_bits(amax.cast_unsigned()) / 127.0;
        let inverse = 1.0 / d;
        if !inverse.is_finite() {
            return (0.0, [0; 32]);
        }
        let mut codes = [0; 32];
        for (code, v) in codes.iter_mut().zip(x) {
            *code = round_half_away(v * inverse);
        }
        (d, codes)
    }
}

/// `x` (at most 127.5 in magnitude) to the nearest integer, halves away from zero.
///
/// `f32::round` is not in `core`. Adding 2^23 to the magnitude leaves the sum no bits for a fraction: its mantissa is the
/// nearest integer, halves to even. Those that went down are found by the fraction, which is exact.
#[inline(always)]
fn round_half_away(x: f32) -> i8 {
    const TO_INTEGER: f32 = 8_388_608.0;
    let sum = x.abs() + TO_INTEGER;
    let whole = (sum.to_bits() & 0x007f_ffff) as i32;
    let whole = whole + i32::from(x.abs() - (sum - TO_INTEGER) == 0.5);
    let sign = x.to_bits().cast_signed() >> 31;
    ((whole ^ sign) - sign) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_halves_away_from_zero_and_nothing_else() {
        let below_half = f32::from_bits(0.5_f32.to_bits() - 1);
        for (x, want) in
            [(0.5, 1), (-0.5, -1), (below_half, 0), (-below_half, 0), (1.5, 2), (2.5, 3), (-126.5, -127), (127.0, 127)]
        {
            assert_eq!(round_half_away(x), want, "{x}");
        }
    }

    #[test]
    fn a_zero_block_and_a_block_too_small_to_invert_are_zero() {
        for tiny in [0.0, f32::from_bits(1), 1e-38] {
            assert_eq!(BlockQ8_0::encode(&[tiny; 32]), BlockQ8_0::zeroed(), "{tiny:e}");
        }
    }

    #[test]
    fn the_largest_element_becomes_127() {
        let mut x = [0.0; 32];
        x[3] = -8.0;
        x[31] = 4.0;
        let block = BlockQ8_0::encode(&x);
        assert_eq!((block.qs[3], block.qs[31], block.qs[0]), (-127, 64, 0));
        assert_eq!(block.d, F16::from_f32(8.0 / 127.0));
    }
}
