//! Q6_K: super-blocks of 256 six-bit codes; sixteen sub-blocks with an 8-bit scale, `w = d * s * q`.

use bytemuck::{Pod, Zeroable};

use crate::k_quants::round::nearest_int;
use crate::k_quants::{self, NEGLIGIBLE, planes, requantize};
use crate::q4_0::signed_extreme;
use crate::{Block, F16, GgmlType};

/// 256 elements in 210 bytes: 6.5625 bits a weight.
///
/// ```text
/// byte 0                  128                192                208  210
///      | ql[0] …      127 | qh[0] …       63 | scales[0] …   15 | d  |
///       low nibbles, two   high bits, four    i8                 f16
///       elements each      elements each
/// ```
///
/// Codes are stored with a bias of 32:
///
/// ```text
/// w[j] = (d * scales[j / 16]) * (q[j] - 32)
/// q[j] = ql[j / 128 * 64 + j % 64] >> (j % 128 / 64 * 4) & 15  |  (qh[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3) << 4
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockQ6_K {
    /// The codes' low nibbles: elements `l` and `64 + l` of each half in one byte, the first in the low nibble.
    pub ql: [u8; 128],
    /// The codes' high bits: elements `l`, `32 + l`, `64 + l`, `96 + l` of each half in one byte.
    pub qh: [u8; 64],
    /// The scales of the sub-blocks of 16.
    pub scales: [i8; 16],
    /// The scale of the scales.
    pub d: F16,
}

const _: () = assert!(size_of::<BlockQ6_K>() == 210 && align_of::<BlockQ6_K>() == 1);

impl Block for BlockQ6_K {
    const TYPE: GgmlType = GgmlType::Q6_K;
    const LEN: usize = 256;
    type Floats = [f32; 256];

    #[inline]
    fn decode(&self) -> [f32; 256] {
        let d = self.d.to_f32();
        let scales = self.scales().map(|s| d * f32::from(s));
        k_quants::decode::<16>(&self.codes(), |j, q| scales[j] * q)
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite()
    }
}

impl BlockQ6_K {
    /// The codes, -32 to 31, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 256] {
        let mut codes = planes::unpack::<4, 64, 128>(&self.ql);
        let high = planes::unpack::<2, 32, 64>(&self.qh);
        for (code, high) in codes.iter_mut().zip(high) {
            *code += (high << 4) - 32;
        }
        codes
    }

    /// The scales of the sub-blocks of 16: any i8.
    #[inline(always)]
    #[must_use]
    pub fn scales(&self) -> [i8; 16] {
        self.scales
    }

    /// Quantizes 256 finite elements: for each sub-block the best of 19 candidates of the scale, rounded to 128ths of the
    /// one with the largest magnitude, then the nearest codes.
    ///
    /// Bytes equal those of ggml's `quantize_row_q6_K_ref`.
    #[must_use]
    pub fn encode(x: &[f32; 256]) -> Self {
        let mut codes = [0; 256];
        let mut scales = [0.0; 16];
        let sub_blocks = x.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0);
        for (scale, (x, codes)) in scales.iter_mut().zip(sub_blocks) {
            (*scale, *codes) = search(x);
        }

        let largest = signed_extreme(&scales);
        if largest.abs() < NEGLIGIBLE {
            return Self::zeroed();
        }
        let inverse = -128.0 / largest;
        let d = F16::from_f32(1.0 / inverse);
        let scales = scales.map(|scale| nearest_int(inverse * scale).min(127) as i8);
        let d32 = d.to_f32();
        requantize::<16>(&mut codes, x, CODES, |j| (d32 * f32::from(scales[j]), 0.0));
        let qh = planes::pack::<2, 32, 64>(&codes.map(|code| code >> 4));
        Self { ql: planes::pack::<4, 64, 128>(&codes), qh, scales, d }
    }
}

/// Codes before they are biased.
const CODES: core::ops::RangeInclusive<i32> = -32..=31;

/// A scale for 16 elements and their codes, biased by 32.
///
/// Candidates send the extreme to -31.1, -31.2 … -32.9; the scale that goes with a candidate's codes is that of the least
/// squares weighted by `x²`. All sums are sequential.
fn search(x: &[f32; 16]) -> (f32, [u8; 16]) {
    let extreme = signed_extreme(x);
    if extreme.abs() < NEGLIGIBLE {
        return (0.0, [0; 16]);
    }
    // Codes, Σ w·x·q and Σ w·q², w = x².
    let candidate = |levels: f32| {
        let inverse = -levels / extreme;
        let codes = x.map(|v| nearest_int(inverse * v).clamp(-32, 31));
        let sums = x.iter().zip(&codes).fold((0.0, 0.0), |(sum_wxq, sum_wqq), (v, &code)| {
            let (w, q) = (v * v, code as f32);
            (sum_wxq + w * v * q, sum_wqq + w * q * q)
        });
        (codes, sums)
    };
    let (mut best, (sum_wxq, sum_wqq)) = candidate(32.0);
    // Σ w·q² is not 0: the extreme's code is near -32.
    let mut scale = sum_wxq / sum_wqq;
    let mut score = scale * sum_wxq;
    // 0 is left out: nearly equal scores are not ordered strictly in f32, so that the first candidate could win again.
    for step in (-9_i8..=9).filter(|&step| step != 0) {
        let (codes, (sum_wxq, sum_wqq)) = candidate(32.0 + 0.1 * f32::from(step));
        if sum_wxq * sum_wxq > score * sum_wqq {
            (best, scale) = (codes, sum_wxq / sum_wqq);
            score = scale * sum_wxq;
        }
    }
    (scale, best.map(|code| (code + 32) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_a_nibble_and_two_high_bits_less_32() {
        let mut block = BlockQ6_K::zeroed();
        block.d = F16::from_f32(0.5);
        block.scales = core::array::from_fn(|j| j as i8 * 2 - 16);
        block.ql[64 + 17] = 0xa5; // elements 145 and 209
        block.ql[64 + 49] = 0xf1; // elements 177 and 241
        block.qh[32 + 17] = 0b11_01_10_00;
        let w = block.decode();
        assert_eq!([w[145], w[177], w[209], w[241]], [1.0 * -27.0, 3.0 * 1.0, 5.0 * -6.0, 7.0 * 31.0]);
        assert_eq!([w[0], w[255]], [-8.0 * -32.0, 7.0 * -32.0]);
    }

    #[test]
    fn the_extreme_becomes_minus_32_under_the_scale_minus_128() {
        let mut x = [0.0; 256];
        (x[20], x[21], x[40]) = (8.0, 2.0, -4.0);
        let block = BlockQ6_K::encode(&x);
        assert_eq!((block.codes()[20], block.codes()[21], block.codes()[22]), (-32, -8, 0));
        assert_eq!((block.d.to_f32(), block.scales[1], block.scales[2]), (8.0 / 32.0 / 128.0, -128, 64));
        assert_eq!(block.codes()[40], -32);
    }

    #[test]
    fn a_sub_block_below_1e_15_is_zero_and_one_at_1e_15_is_not() {
        let below = f32::from_bits(NEGLIGIBLE.to_bits() - 1);
        assert_eq!(search(&[below; 16]), (0.0, [0; 16]));
        assert!(search(&[NEGLIGIBLE; 16]).0 < 0.0);
    }

    #[test]
    fn a_zero_sub_block_has_scale_zero_and_a_zero_block_no_bytes() {
        let mut x = [0.0; 256];
        x[0] = 1.0;
        assert_eq!(BlockQ6_K::encode(&x).scales[1], 0);
        assert_eq!(BlockQ6_K::encode(&[1e-16; 256]), BlockQ6_K::zeroed());
    }
}
