//! Q4_K: super-blocks of 256 nibbles; eight sub-blocks with a 6-bit scale and minimum, `w = d * s * q - dmin * m`.

use bytemuck::{Pod, Zeroable};

use crate::k_quants::with_min::{Search, SixBitSuperBlock, encode_six_bits};
use crate::k_quants::{self, planes, six_bits};
use crate::{Block, F16, GgmlType};

/// 256 elements in 144 bytes: 4.5 bits a weight.
///
/// ```text
/// byte 0    2      4                        16                          144
///      | d  | dmin | scales[0] …         11 | qs[0] …           qs[127] |
///       f16  f16    8 scales and 8 minimums  two codes each
///                   of six bits
/// ```
///
/// With scales `s` and minimums `m` of the sub-blocks of 32:
///
/// ```text
/// w[j] = (d * s[j / 32]) * q[j] - (dmin * m[j / 32])
/// q[j] = qs[j / 64 * 32 + j % 32] >> (j % 64 / 32 * 4) & 15
///
/// scales  byte     bits 7,6          bits 5-0
///         i        s[i + 4] bits 5,4    s[i]               i < 4
///         4 + i    m[i + 4] bits 5,4    m[i]
///                  bits 7-4             bits 3-0
///         8 + i    m[i + 4] bits 3-0    s[i + 4] bits 3-0
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockQ4_K {
    /// The scale of the scales.
    pub d: F16,
    /// The scale of the minimums.
    pub dmin: F16,
    /// The scales and minimums of the sub-blocks of 32, six bits each.
    pub scales: [u8; 12],
    /// The codes: elements `l` and `32 + l` of each 64 in one byte, the first in the low nibble.
    pub qs: [u8; 128],
}

const _: () = assert!(size_of::<BlockQ4_K>() == 144 && align_of::<BlockQ4_K>() == 1);

impl Block for BlockQ4_K {
    const TYPE: GgmlType = GgmlType::Q4_K;
    const LEN: usize = 256;
    type Floats = [f32; 256];

    #[inline]
    fn decode(&self) -> [f32; 256] {
        let (d, dmin) = (self.d.to_f32(), self.dmin.to_f32());
        let scales = self.scales().map(|s| d * f32::from(s));
        let mins = self.mins().map(|m| dmin * f32::from(m));
        k_quants::decode::<32>(&self.codes(), |j, q| scales[j] * q - mins[j])
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite() && self.dmin.is_finite()
    }
}

/// Squared differences, weighted by magnitude and the sub-block's mean square.
const SEARCH: Search = Search { max_code: 15, first: -1.0, steps: 20, error: |difference| difference * difference };

impl BlockQ4_K {
    /// The codes, 0 to 15, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 256] {
        planes::unpack::<4, 32, 128>(&self.qs)
    }

    /// The first 16 bytes: both floats and all scales.
    #[inline(always)]
    #[must_use]
    pub fn header(&self) -> &[u8; 16] {
        bytemuck::bytes_of(self).first_chunk().expect("a block is longer")
    }

    /// The scales of the sub-blocks of 32, 0 to 63.
    #[inline(always)]
    #[must_use]
    pub fn scales(&self) -> [u8; 8] {
        six_bits::scales(&self.scales)
    }

    /// The minimums of the sub-blocks of 32, 0 to 63.
    #[inline(always)]
    #[must_use]
    pub fn mins(&self) -> [u8; 8] {
        six_bits::mins(&self.scales)
    }

    /// Quantizes 256 finite elements: for each sub-block the best of 22 candidates of scale and minimum, both rounded to
    /// 63rds of the largest, then the nearest codes.
    ///
    /// Bytes equal those of ggml's `quantize_row_q4_K_ref`.
    #[must_use]
    pub fn encode(x: &[f32; 256]) -> Self {
        let SixBitSuperBlock { d, dmin, scales, codes } = encode_six_bits(x, &SEARCH);
        Self { d, dmin, scales, qs: planes::pack::<4, 32, 128>(&codes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_a_nibble_under_the_scale_and_minimum_of_its_thirty_two() {
        let (d, dmin) = (F16::from_f32(2.0), F16::from_f32(0.5));
        let scales = six_bits::pack([1, 2, 3, 4, 50, 60, 62, 63], [8, 7, 6, 5, 40, 30, 20, 10]);
        let mut block = BlockQ4_K { d, dmin, scales, qs: [0; 128] };
        block.qs[31] = 0xa5;
        block.qs[96] = 0xf1;
        let w = block.decode();
        assert_eq!([w[31], w[63], w[192], w[224]], [6.0, 36.5, 114.0, 1885.0]);
        assert_eq!([w[0], w[32], w[159], w[255]], [-4.0, -3.5, -20.0, -5.0]);
    }

    #[test]
    fn scales_and_minimums_keep_their_ratios() {
        // Sub-block j holds 16 steps of 7 (j + 1) + 7, and as much below 0: 63 levels at the last.
        let x = core::array::from_fn(|i| (7 * (i / 32 + 1) + 7) as f32 * ((i % 16) as f32 - 1.0));
        let block = BlockQ4_K::encode(&x);
        assert_eq!(block.scales(), [14, 21, 28, 35, 42, 49, 56, 63]);
        assert_eq!(block.mins(), block.scales());
        assert_eq!((block.codes()[0], block.codes()[15], block.codes()[255]), (0, 15, 15));
    }

    #[test]
    fn zeros_are_zero_bytes() {
        assert_eq!(BlockQ4_K::encode(&[0.0; 256]), BlockQ4_K::zeroed());
    }
}
