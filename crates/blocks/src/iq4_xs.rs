//! IQ4_XS: IQ4_NL in super-blocks of 256, with a 6-bit scale for every 32 elements. Decoded only.

use bytemuck::{Pod, Zeroable};

use crate::q4_0::nibbles;
use crate::{Block, BlockIQ4_NL, F16, GgmlType};

/// 256 elements in 136 bytes: 4.25 bits a weight. Sub-block s of 32 elements has the scale `d * (ls[s] - 32)`.
///
/// ```text
/// byte 0    2          4          8                      136
///      | d  | scales_h | scales_l | qs[0] … qs[127]      |
///       f16   2 bits     4 bits     two nibbles each, 16 bytes a sub-block
///             each       each
///
/// ls[s] = scales_l[s / 2] >> 4 * (s % 2) & 15 | (scales_h >> 2 * s & 3) << 4
///
/// w[32 * s + j]      = d * (ls[s] - 32) * VALUES[qs[16 * s + j] & 15]   for j < 16
/// w[32 * s + j + 16] = d * (ls[s] - 32) * VALUES[qs[16 * s + j] >> 4]
/// ```
///
/// `VALUES` are those of [`BlockIQ4_NL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockIQ4_XS {
    /// The scale of the super-block.
    pub d: F16,
    /// The upper two bits of the scales plus 32, little-endian, sub-block 0 in the lowest ones.
    pub scales_h: [u8; 2],
    /// The lower four bits of the scales plus 32: even sub-blocks in the low nibbles, odd ones in the high nibbles.
    pub scales_l: [u8; 4],
    /// Indices into [`BlockIQ4_NL::VALUES`], sub-block by sub-block: 16 low nibbles, then the 16 high ones.
    pub qs: [[u8; 16]; 8],
}

const _: () = assert!(size_of::<BlockIQ4_XS>() == 136 && align_of::<BlockIQ4_XS>() == 1);

impl Block for BlockIQ4_XS {
    const TYPE: GgmlType = GgmlType::IQ4_XS;
    const LEN: usize = 256;
    type Floats = [f32; 256];

    #[inline]
    fn decode(&self) -> [f32; 256] {
        let d = self.d.to_f32();
        let mut w = [0.0; 256];
        let sub_blocks = w.as_chunks_mut::<32>().0.iter_mut().zip(&self.qs).zip(self.scales());
        for ((w, qs), scale) in sub_blocks {
            let scale = d * f32::from(scale);
            *w = nibbles(qs).map(|index| scale * f32::from(BlockIQ4_NL::VALUES[usize::from(index)]));
        }
        w
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite()
    }
}

impl BlockIQ4_XS {
    /// The scales of the sub-blocks, -32 to 31.
    #[must_use]
    pub fn scales(&self) -> [i8; 8] {
        let high = u16::from_le_bytes(self.scales_h);
        core::array::from_fn(|s| {
            let low = self.scales_l[s / 2] >> (4 * (s % 2)) & 15;
            let high = (high >> (2 * s) & 3) as u8;
            (low | high << 4) as i8 - 32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> BlockIQ4_XS {
        // Scales 0 to 7 apart from each other: 0x10, 0x21, 0x32, 0x03, 0x14, 0x25, 0x36, 0x07, less 32.
        BlockIQ4_XS {
            d: F16::from_f32(0.5),
            scales_h: 0b00_11_10_01_00_11_10_01_u16.to_le_bytes(),
            scales_l: [0x10, 0x32, 0x54, 0x76],
            qs: [[0; 16]; 8],
        }
    }

    #[test]
    fn scales_are_put_together_from_two_places() {
        assert_eq!(block().scales(), [0x10, 0x21, 0x32, 0x03, 0x14, 0x25, 0x36, 0x07].map(|ls| ls - 32));
    }

    #[test]
    fn each_sub_block_has_its_own_scale_and_its_own_indices() {
        let mut block = block();
        for (s, qs) in block.qs.iter_mut().enumerate() {
            // Index 8 stands for 1, 15 for 113.
            *qs = [0x88; 16];
            qs[s] = 0xf0;
        }
        let w = block.decode();
        for (s, scale) in block.scales().into_iter().enumerate() {
            let scale = 0.5 * f32::from(scale);
            assert_eq!((w[32 * s + s], w[32 * s + 16 + s]), (-127.0 * scale, 113.0 * scale), "{s}");
            assert_eq!((w[32 * s + s + 1], w[32 * s + 17 + s]), (scale, scale), "{s}");
        }
    }
}
