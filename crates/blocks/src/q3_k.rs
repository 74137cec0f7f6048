//! Q3_K: super-blocks of 256 three-bit codes; sixteen sub-blocks with a 6-bit scale, `w = d * s * q`.

use bytemuck::{Pod, Zeroable};

use crate::k_quants::round::nearest_int;
use crate::k_quants::{self, NEGLIGIBLE, biased, planes, requantize};
use crate::q4_0::signed_extreme;
use crate::{Block, F16, GgmlType};

/// 256 elements in 110 bytes: 3.4375 bits a weight.
///
/// ```text
/// byte 0                 32                96                     108  110
///      | hmask[0] …   31 | qs[0] …      63 | scales[0] …       11 | d  |
///       high bits, eight  low bits, four    16 scales of six bits  f16
///       elements each     elements each
/// ```
///
/// Codes are stored with a bias of 4, scales `s` with a bias of 32:
///
/// ```text
/// w[j] = (d * (s[j / 16] - 32)) * (q[j] - 4)
/// q[j] = qs[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3  |  (hmask[j % 32] >> (j / 32) & 1) << 2
///
/// scales  byte     bits 7-4           bits 3-0
///         i < 8    s[i + 8] bits 3-0  s[i] bits 3-0
///         8 + i    bits 5,4 of s[i + 12], s[i + 8], s[i + 4], s[i]    i < 4
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockQ3_K {
    /// The codes' high bits: elements `l`, `32 + l`, … `224 + l` in one byte, the first in its lowest bit.
    pub hmask: [u8; 32],
    /// The codes' low bits: elements `l`, `32 + l`, `64 + l`, `96 + l` of each half in one byte.
    pub qs: [u8; 64],
    /// The scales of the sub-blocks of 16, six bits each.
    pub scales: [u8; 12],
    /// The scale of the scales.
    pub d: F16,
}

const _: () = assert!(size_of::<BlockQ3_K>() == 110 && align_of::<BlockQ3_K>() == 1);

impl Block for BlockQ3_K {
    const TYPE: GgmlType = GgmlType::Q3_K;
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

impl BlockQ3_K {
    /// The codes, -4 to 3, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 256] {
        let mut codes = planes::unpack::<2, 32, 64>(&self.qs);
        let high = planes::unpack::<1, 32, 32>(&self.hmask);
        for (code, high) in codes.iter_mut().zip(high) {
            *code += (high << 2) - 4;
        }
        codes
    }

    /// The scales of the sub-blocks of 16, -32 to 31.
    #[inline(always)]
    #[must_use]
    pub fn scales(&self) -> [i8; 16] {
        // Four bytes to a word, so that a shift and a mask serve four scales.
        let words = self.scales.as_chunks().0;
        let [a, b, high] = [words[0], words[1], words[2]].map(u32::from_le_bytes);
        let mut scales = [0; 16];
        for (quarter, (scales, low)) in scales.as_chunks_mut::<4>().0.iter_mut().zip([a, b, a >> 4, b >> 4]).enumerate()
        {
            let word = low & 0x0f0f_0f0f | (high >> (2 * quarter) & 0x0303_0303) << 4;
            *scales = word.to_le_bytes().map(|s| s as i8 - 32);
        }
        scales
    }

    /// Quantizes 256 finite elements: for each sub-block a scale by weighted least squares, rounded to 32nds of the one
    /// with the largest magnitude, then the nearest codes.
    ///
    /// Bytes equal those of ggml's `quantize_row_q3_K_ref`.
    #[must_use]
    pub fn encode(x: &[f32; 256]) -> Self {
        let mut codes = [0; 256];
        let mut scales = [0.0; 16];
        let sub_blocks = x.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0);
        for (scale, (x, codes)) in scales.iter_mut().zip(sub_blocks) {
            (*scale, *codes) = search(x);
        }

        let mut block = Self::zeroed();
        let largest = signed_extreme(&scales);
        if largest != 0.0 {
            let inverse = -32.0 / largest;
            block.d = F16::from_f32(1.0 / inverse);
            block.scales = pack_scales(scales.map(|scale| biased(inverse * scale, &(-32..=31))));
        }
        let (d, scales) = (block.d.to_f32(), block.scales());
        requantize::<16>(&mut codes, x, -4..=3, |j| (d * f32::from(scales[j]), 0.0));
        block.qs = planes::pack::<2, 32, 64>(&codes);
        block.hmask = planes::pack::<1, 32, 32>(&codes.map(|code| code >> 2));
        block
    }
}

/// Six bits of sixteen scales, already biased.
fn pack_scales(s: [u8; 16]) -> [u8; 12] {
    core::array::from_fn(|i| match i {
        0..8 => s[i] & 15 | s[i + 8] << 4,
        _ => s[i - 8] >> 4 | s[i - 4] >> 4 << 2 | s[i] >> 4 << 4 | s[i + 4] >> 4 << 6,
    })
}

/// A scale for 16 elements and their codes, biased by 4.
///
/// From codes for the scale that sends the extreme to -4 each code in turn is changed to the one that suits the least
/// squares of the others, where that lowers the error weighted by `x²`; five rounds at most. All sums are sequential.
fn search(x: &[f32; 16]) -> (f32, [u8; 16]) {
    let extreme = signed_extreme(x);
    if extreme.abs() < NEGLIGIBLE {
        return (0.0, [0; 16]);
    }
    let inverse = -4.0 / extreme;
    let mut codes = x.map(|v| nearest_int(inverse * v).clamp(-4, 3));
    // Σ w·x·q and Σ w·q², w = x².
    let (mut sum_wxq, mut sum_wqq) = (0.0, 0.0);
    for (v, &code) in x.iter().zip(&codes) {
        let (w, q) = (v * v, code as f32);
        sum_wxq += w * v * q;
        sum_wqq += w * q * q;
    }
    for _ in 0..5 {
        let mut changed = false;
        for (v, code) in x.iter().zip(&mut codes) {
            let (w, q) = (v * v, *code as f32);
            let other_wxq = sum_wxq - w * v * q;
            if other_wxq > 0.0 {
                let other_wqq = sum_wqq - w * q * q;
                let candidate = nearest_int(v * other_wqq / other_wxq).clamp(-4, 3);
                let q = candidate as f32;
                let new_wxq = other_wxq + w * v * q;
                let new_wqq = other_wqq + w * q * q;
                let improves = new_wqq > 0.0 && new_wxq * new_wxq * sum_wqq > sum_wxq * sum_wxq * new_wqq;
                if candidate != *code && improves {
                    (*code, sum_wxq, sum_wqq) = (candidate, new_wxq, new_wqq);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    // The extreme's code is not 0 at first, and no change made Σ w·q² 0.
    (sum_wxq / sum_wqq, codes.map(|code| (code + 4) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_two_low_bits_and_a_high_one_less_four() {
        let mut block = BlockQ3_K::zeroed();
        block.d = F16::from_f32(0.5);
        block.scales = pack_scales([34; 16]);
        block.qs[32 + 17] = 0b11_01_10_00;
        block.hmask[17] = 0b1010_0000; // elements 241 and 177
        let w = block.decode();
        assert_eq!([w[145], w[177], w[209], w[241]], [-4.0, 2.0, -3.0, 3.0]);
        assert_eq!(w[17], -4.0);
    }

    #[test]
    fn every_scale_has_bits_of_its_own() {
        for j in 0..16 {
            for value in 0..64 {
                let mut biased = [32; 16];
                biased[j] = value;
                let block = BlockQ3_K { scales: pack_scales(biased), ..BlockQ3_K::zeroed() };
                assert_eq!(block.scales(), biased.map(|s| s as i8 - 32), "{j}");
            }
        }
    }

    #[test]
    fn scale_bytes_are_those_of_the_picture() {
        let s = [1, 2, 3, 4, 0x15, 0x26, 0x37, 0x08, 9, 10, 11, 12, 0x3d, 0x2e, 0x1f, 0x00];
        assert_eq!(pack_scales(s), [0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7, 0x08, 0xc4, 0x88, 0x4c, 0x00]);
    }

    #[test]
    fn the_extreme_becomes_minus_four_under_the_scale_minus_32() {
        let mut x = [0.0; 256];
        (x[20], x[21]) = (8.0, 2.0);
        let block = BlockQ3_K::encode(&x);
        assert_eq!((block.codes()[20], block.codes()[21], block.codes()[22]), (-4, -1, 0));
        assert_eq!((block.d.to_f32(), block.scales()[1], block.scales()[0]), (0.0625, -32, 0));
    }

    #[test]
    fn a_sub_block_below_1e_15_is_zero_and_one_at_1e_15_is_not() {
        let below = f32::from_bits(NEGLIGIBLE.to_bits() - 1);
        assert_eq!(search(&[below; 16]), (0.0, [0; 16]));
        assert!(search(&[NEGLIGIBLE; 16]).0 < 0.0);
    }

    #[test]
    fn zeros_have_neither_scales_nor_codes() {
        assert_eq!(BlockQ3_K::encode(&[-0.0; 256]), BlockQ3_K::zeroed());
    }
}
