//! F32: one element a block, little-endian.

use bytemuck::{Pod, Zeroable};

use crate::{Block, GgmlType};

/// One f32 as it lies in a file: four little-endian bytes at any address.
///
/// ```text
/// byte 0      4
///      | f32  |
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct BlockF32([u8; 4]);

const _: () = assert!(size_of::<BlockF32>() == 4 && align_of::<BlockF32>() == 1);

impl BlockF32 {
    /// The bytes of `x`.
    #[inline]
    #[must_use]
    pub const fn from_f32(x: f32) -> Self {
        Self(x.to_le_bytes())
    }

    /// The value.
    #[inline(always)]
    #[must_use]
    pub const fn to_f32(self) -> f32 {
        f32::from_le_bytes(self.0)
    }
}

impl Block for BlockF32 {
    const TYPE: GgmlType = GgmlType::F32;
    const LEN: usize = 1;
    type Floats = [f32; 1];

    #[inline(always)]
    fn decode(&self) -> [f32; 1] {
        [self.to_f32()]
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        self.to_f32().is_finite()
    }
}
