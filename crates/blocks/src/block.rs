//! The trait that all block structs share.

use bytemuck::Pod;

use crate::GgmlType;

/// A block as it lies in a file: plain bytes, alignment 1, fixed geometry.
///
/// Implemented by the block structs of this crate only; kernels are generic over it where types differ
/// in nothing but their decoder.
pub trait Block: Pod {
    /// The storage type that this block belongs to.
    const TYPE: GgmlType;
    /// Elements in a block.
    const LEN: usize;
    /// `[f32; Self::LEN]`.
    type Floats: AsRef<[f32]> + AsMut<[f32]> + Copy;

    /// The elements, in the order of k.
    fn decode(&self) -> Self::Floats;

    /// Whether all elements are finite, which is seen without decoding them: codes are small integers, and scales that an f16 holds
    /// make nothing of them that an f32 does not, while an infinite scale makes all of them infinite or, of 0, NaN.
    fn is_finite(&self) -> bool;
}

/// Writes the elements of whole blocks to `out`, which holds exactly as many.
pub(crate) fn decode_blocks<B: Block>(blocks: &[B], out: &mut [f32]) {
    debug_assert_eq!(blocks.len() * B::LEN, out.len());
    for (block, elements) in blocks.iter().zip(out.chunks_exact_mut(B::LEN)) {
        elements.copy_from_slice(block.decode().as_ref());
    }
}

/// Blocks that are looked at before it is asked whether one was found: compilers make vectors of a loop without an exit.
const TOGETHER: usize = 64;

/// The first block with an element that is infinite or NaN.
pub(crate) fn first_not_finite<B: Block>(blocks: &[B]) -> Option<usize> {
    let is_damaged = |some: &[B]| some.iter().fold(false, |damaged, block| damaged | !block.is_finite());
    let damaged = blocks.chunks(TOGETHER).position(is_damaged)? * TOGETHER;
    blocks[damaged..].iter().position(|block| !block.is_finite()).map(|block| damaged + block)
}
