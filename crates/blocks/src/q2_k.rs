//! Q2_K: super-blocks of 256 two-bit codes; sixteen sub-blocks with a 4-bit scale and minimum, `w = d * s * q - dmin * m`.

use bytemuck::{Pod, Zeroable};

use crate::k_quants::with_min::{Fits, Search, to_levels};
use crate::k_quants::{self, planes, requantize};
use crate::{Block, F16, GgmlType};

/// 256 elements in 84 bytes: 2.625 bits a weight.
///
/// ```text
/// byte 0                16                           80   82     84
///      | scales[0] … 15 | qs[0] …             qs[63] | d  | dmin |
///       min (high nibble) four codes each             f16  f16
///       and scale (low)
/// ```
///
/// Sub-block `j / 16` of element `j` has `scales[j / 16]`:
///
/// ```text
/// w[j] = (d * (scales[j / 16] & 15)) * q[j] - (dmin * (scales[j / 16] >> 4))
/// q[j] = qs[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockQ2_K {
    /// A scale in the low nibble and a minimum in the high one, for each sub-block of 16.
    pub scales: [u8; 16],
    /// The codes: elements `l`, `32 + l`, `64 + l`, `96 + l` of each half in one byte, the first in its lowest bits.
    pub qs: [u8; 64],
    /// The scale of the scales.
    pub d: F16,
    /// The scale of the minimums.
    pub dmin: F16,
}

const _: () = assert!(size_of::<BlockQ2_K>() == 84 && align_of::<BlockQ2_K>() == 1);

impl Block for BlockQ2_K {
    const TYPE: GgmlType = GgmlType::Q2_K;
    const LEN: usize = 256;
    type Floats = [f32; 256];

    #[inline]
    fn decode(&self) -> [f32; 256] {
        let (d, dmin) = (self.d.to_f32(), self.dmin.to_f32());
        let scales = self.scales().map(|s| d * f32::from(s));
        let mins = self.mins().map(|m| dmin * f32::from(m));
        k_quants::decode::<16>(&self.codes(), |j, q| scales[j] * q - mins[j])
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite() && self.dmin.is_finite()
    }
}

/// Absolute differences, weighted by magnitude.
const SEARCH: Search = Search { max_code: 3, first: -0.5, steps: 15, error: f32::abs };

impl BlockQ2_K {
    /// The codes, 0 to 3, in the order of k.
    #[inline(always)]
    #[must_use]
    pub fn codes(&self) -> [i8; 256] {
        planes::unpack::<2, 32, 64>(&self.qs)
    }

    /// The scales of the sub-blocks of 16, 0 to 15.
    #[inline(always)]
    #[must_use]
    pub fn scales(&self) -> [u8; 16] {
        self.scales.map(|byte| byte & 15)
    }

    /// The minimums of the sub-blocks of 16, 0 to 15.
    #[inline(always)]
    #[must_use]
    pub fn mins(&self) -> [u8; 16] {
        self.scales.map(|byte| byte >> 4)
    }

    /// Quantizes 256 finite elements: for each sub-block the best of 17 candidates of scale and minimum, both rounded to
    /// 15ths of the largest, then the nearest codes.
    ///
    /// Bytes equal those of ggml's `quantize_row_q2_K_ref`.
    #[must_use]
    pub fn encode(x: &[f32; 256]) -> Self {
        let Fits { scales, mins, mut codes } = SEARCH.fit::<16, 16>(x, |x| x.map(f32::abs));
        let (d, scales) = to_levels(&scales, 15.0);
        let (dmin, mins) = to_levels(&mins, 15.0);
        // Where rounding left a scale below 0, as in sub-blocks that differ in their last bits only, it fills the
        // minimum's bits too: ggml stores it so.
        let scales = core::array::from_fn(|j| scales[j] as u8 | (mins[j] << 4) as u8);
        let mut block = Self { scales, qs: [0; 64], d, dmin };
        let (scales, mins) = (block.scales(), block.mins());
        let (d, dmin) = (d.to_f32(), dmin.to_f32());
        requantize::<16>(&mut codes, x, 0..=3, |j| (d * f32::from(scales[j]), dmin * f32::from(mins[j])));
        block.qs = planes::pack::<2, 32, 64>(&codes);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_two_bits_under_the_scale_and_minimum_of_its_sixteen() {
        let mut block = BlockQ2_K::zeroed();
        (block.d, block.dmin) = (F16::from_f32(2.0), F16::from_f32(0.5));
        block.qs[32 + 17] = 0b11_01_10_00;
        block.scales[9..16].copy_from_slice(&[0x21, 0, 0x43, 0, 0x65, 0, 0x8f]);
        let w = block.decode();
        assert_eq!([w[145], w[177], w[209], w[241]], [-1.0, 10.0, 7.0, 86.0]);
    }

    #[test]
    fn scales_and_minimums_keep_their_ratios() {
        // Sub-block j holds steps of j + 1 from -(j + 1) on: exact in this type.
        let x = core::array::from_fn(|i| (i / 16 + 1) as f32 * ((i % 4) as f32 - 1.0));
        let block = BlockQ2_K::encode(&x);
        assert_eq!((block.scales()[15], block.mins()[15]), (15, 15));
        assert_eq!((block.scales()[7], block.mins()[7]), (8, 8));
        assert_eq!(block.codes()[240..244], [0, 1, 2, 3]);
    }

    #[test]
    fn zeros_are_zero_bytes() {
        assert_eq!(BlockQ2_K::encode(&[0.0; 256]), BlockQ2_K::zeroed());
    }
}
