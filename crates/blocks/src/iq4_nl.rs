//! IQ4_NL: 32 indices into a table of 16 values, and a scale. Decoded only.

use bytemuck::{Pod, Zeroable};

use crate::q4_0::nibbles;
use crate::{Block, F16, GgmlType};

/// 32 elements in 18 bytes: 4.5 bits a weight.
///
/// ```text
/// byte 0    2                    18
///      | d  | qs[0] … qs[15]     |     w[j]      = d * VALUES[qs[j] & 15]   for j < 16
///       f16   two nibbles each         w[j + 16] = d * VALUES[qs[j] >> 4]
/// ```
///
/// The layout of Q4_0, but the 16 levels are not equally far from each other ("non-linear").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the field's name")]
pub struct BlockIQ4_NL {
    /// The scale.
    pub d: F16,
    /// Indices into [`Self::VALUES`]: elements 0 to 15 in the low nibbles, 16 to 31 in the high ones.
    pub qs: [u8; 16],
}

const _: () = assert!(size_of::<BlockIQ4_NL>() == 18 && align_of::<BlockIQ4_NL>() == 1);

impl Block for BlockIQ4_NL {
    const TYPE: GgmlType = GgmlType::IQ4_NL;
    const LEN: usize = 32;
    type Floats = [f32; 32];

    #[inline]
    fn decode(&self) -> [f32; 32] {
        let d = self.d.to_f32();
        nibbles(&self.qs).map(|index| d * f32::from(Self::VALUES[usize::from(index)]))
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.d.is_finite()
    }
}

impl BlockIQ4_NL {
    /// The levels, as ggml's `kvalues_iq4nl` (`ggml-common.h`) lists them. IQ4_XS has the same.
    pub const VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_are_indices() {
        let mut block = BlockIQ4_NL { d: F16::from_f32(0.5), qs: [0x88; 16] };
        block.qs[2] = 0xf0;
        let w = block.decode();
        assert_eq!((w[1], w[2], w[18], w[19]), (0.5, -63.5, 56.5, 0.5));
    }
}
