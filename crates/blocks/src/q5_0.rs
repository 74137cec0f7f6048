//! Q5_0: 32 codes of five bits and a scale, `w = d * (q - 16)`.

use bytemuck::{Pod, Zeroable};

use crate::q4_0::{nibbles, pack_nibbles, signed_extreme};
use crate::{Block, F16, GgmlType};

/// 32 elements in 22 bytes: 5.5 bits a weight.
///
/// ```text
/// byte 0    2       6                    22
///      | d  | qh    | qs[0] … qs[15]     |     w[j]      = d * ((qs[j] & 15 | h[j] << 4) - 16)        for j < 16
///       f16   1 bit   two nibbles each         w[j + 16] = d * ((qs[j] >> 4 | h[j + 16] << 4) - 16)
///             each                             h[j]      = qh[j / 8] >> (j % 8) & 1
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ5_0 {
    /// The scale.
    pub d: F16,
    /// The fifth bits of the codes: element j has bit j of the 32, counted from the lowest bit of the first byte.
    pub qh: [u8; 4],
    /// The lower four bits of the codes plus 16: elements 0 to 15 in the low nibbles, 16 to 31 in the high ones.
    pub qs: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ5_0>() == 22 && align_of::<BlockQ5_0>() == 1);

impl Block for BlockQ5_0 {
    const TYPE: GgmlType = GgmlType::Q5_0;
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

impl BlockQ5_0 {
    /// The codes, -16 to 15, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 32] {
        let mut codes = five_bits(self.qh, &self.qs);
        for code in &mut codes {
            *code -= 16;
        }
        codes
    }

    /// Quantizes 32 finite elements: `d = extreme / -16`, with `extreme` the element of largest magnitude, codes
    /// `x * (1 / d)` rounded half up and at most 15. The extreme itself becomes -16, the one code without a counterpart.
    ///
    /// Bytes equal those of ggml's `quantize_row_q5_0_ref`; of two extremes the first one counts. A block that is so small
    /// that `1 / d` is not finite gets codes 0 (ggml's result is undefined there, but for a block of zeros).
    #[must_use]
    pub fn encode(x: &[f32; 32]) -> Self {
        let d = signed_extreme(x) / -16.0;
        let inverse = 1.0 / d;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        // The sum is positive, so that the cast, which truncates, rounds half up.
        let (qh, qs) = pack_five_bits(x.map(|v| ((v * inverse + 16.5) as u8).min(31)));
        Self { d: F16::from_f32(d), qh, qs }
    }
}

/// Codes of five bits, 0 to 31, in the order of k.
///
/// A loop that tests each bit, because compilers make a broadcast, a mask and a comparison of it: with the products of a
/// dot 5.2 ns a block on SSE2 and 3.1 on AVX2. Shifting the bits takes twice as long, `array::from_fn` four times.
#[inline(always)]
pub(crate) fn five_bits(qh: [u8; 4], qs: &[u8; 16]) -> [i8; 32] {
    let mut codes = [0; 32];
    for (j, (code, low)) in codes.iter_mut().zip(nibbles(qs)).enumerate() {
        let high = if qh[j / 8] & 1 << (j % 8) != 0 { 16 } else { 0 };
        *code = (low | high) as i8;
    }
    codes
}

/// The inverse of [`five_bits`]: `qh` and `qs`.
pub(crate) fn pack_five_bits(codes: [u8; 32]) -> ([u8; 4], [u8; 16]) {
    let mut qh = [0; 4];
    for (j, code) in codes.iter().enumerate() {
        qh[j / 8] |= code >> 4 << (j % 8);
    }
    (qh, pack_nibbles(codes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_own_fifth_bit() {
        for j in 0..32 {
            let mut codes = [0; 32];
            codes[j] = 16;
            let (qh, qs) = pack_five_bits(codes.map(|q| q as u8));
            assert_eq!((u32::from_le_bytes(qh), qs), (1 << j, [0; 16]));
            assert_eq!(five_bits(qh, &qs), codes);
        }
    }

    #[test]
    fn codes_are_biased_by_16() {
        let mut block = BlockQ5_0 { d: F16::from_f32(0.5), qh: [0xff, 0xff, 0xff, 0xef], qs: [0; 16] };
        block.qs[12] = 0x3f;
        let w = block.decode();
        assert_eq!((w[0], w[12], w[28], w[31]), (0.0, 7.5, -6.5, 0.0));
    }

    #[test]
    fn the_extreme_becomes_minus_16_and_its_opposite_15() {
        let mut x = [0.0; 32];
        (x[3], x[20], x[31]) = (-4.0, 4.0, 0.125);
        let block = BlockQ5_0::encode(&x);
        let codes = block.codes();
        assert_eq!((codes[3], codes[20], codes[31], codes[0]), (-16, 15, 1, 0));
        assert_eq!(block.d.to_f32(), 0.25);
    }

    #[test]
    fn a_block_too_small_to_invert_has_codes_0() {
        for tiny in [0.0, -0.0, f32::from_bits(1), 1e-38, -1e-38] {
            let block = BlockQ5_0::encode(&[tiny; 32]);
            assert_eq!(block.codes(), [0; 32], "{tiny:e}");
            assert_eq!(block.d.to_f32(), 0.0, "{tiny:e}");
        }
        // Whatever the sign of the zeros, ggml divides 0.0 by -16.
        assert_eq!(BlockQ5_0::encode(&[-0.0; 32]).d, F16::from_f32(-0.0));
    }
}
