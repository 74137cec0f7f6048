//! MXFP4: 32 floats of four bits and a power of two. Decoded only.

use bytemuck::{Pod, Zeroable};

use crate::q4_0::nibbles;
use crate::{Block, GgmlType};

/// 32 elements in 17 bytes: 4.25 bits a weight.
///
/// ```text
/// byte 0     1                    17
///      | e   | qs[0] … qs[15]     |     w[j]      = 2^(e - 128) * VALUES[qs[j] & 15]   for j < 16
///       E8M0   two nibbles each         w[j + 16] = 2^(e - 128) * VALUES[qs[j] >> 4]
/// ```
///
/// The element and scale formats E2M1 and E8M0 are those of the OCP Microscaling Formats (MX) Specification 1.0; the order
/// of the nibbles is ggml's. As there, [`VALUES`](Self::VALUES) are twice the elements, and the scale is halved. Also as
/// in ggml, -0 decodes to +0 and the scale 255, NaN in the specification, is 2^127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockMXFP4 {
    /// The exponent of the scale, biased by 127.
    pub e: u8,
    /// Indices into [`Self::VALUES`]: elements 0 to 15 in the low nibbles, 16 to 31 in the high ones.
    pub qs: [u8; 16],
}

const _: () = assert!(size_of::<BlockMXFP4>() == 17 && align_of::<BlockMXFP4>() == 1);

impl Block for BlockMXFP4 {
    const TYPE: GgmlType = GgmlType::MXFP4;
    const LEN: usize = 32;
    type Floats = [f32; 32];

    #[inline]
    fn decode(&self) -> [f32; 32] {
        let half_scale = self.half_scale();
        nibbles(&self.qs).map(|index| half_scale * f32::from(Self::VALUES[usize::from(index)]))
    }

    #[inline]
    fn is_finite(&self) -> bool {
        // 12 * 2^(e - 128) is an f32 up to here; beyond, it depends on the codes.
        self.e <= 252 || self.decode().iter().all(|element| element.is_finite())
    }
}

impl BlockMXFP4 {
    /// Twice the values of E2M1, by its four bits: sign, two bits of exponent, one of mantissa.
    pub const VALUES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

    /// Half the scale: 2^(e - 128).
    #[inline]
    #[must_use]
    pub const fn half_scale(&self) -> f32 {
        // 2^-128 and 2^-127 are denormal.
        let bits = if self.e < 2 { 0x0020_0000 << self.e } else { (self.e as u32 - 1) << 23 };
        f32::from_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_are_small_floats() {
        let mut block = BlockMXFP4 { e: 127, qs: [0x80; 16] };
        block.qs[2] = 0xf5;
        let w = block.decode();
        // Sign 0, exponent 2, mantissa 1: 1.5 * 2; sign 1, exponent 3, mantissa 1: -1.5 * 4.
        assert_eq!((w[1], w[2], w[18], w[19]), (0.0, 3.0, -6.0, 0.0));
    }

    #[test]
    fn scales_are_all_powers_of_two() {
        let mut half_scale = f32::from_bits(1 << 21);
        for e in 0..=255 {
            assert_eq!(BlockMXFP4 { e, qs: [0; 16] }.half_scale(), half_scale, "{e}");
            half_scale *= 2.0;
        }
    }
}
