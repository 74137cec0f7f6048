//! [`Scales`]: what the codes of a block of eight rows are multiplied by.

use super::Octet;
use crate::{Quantized, Target};

/// The integer scales and minima of a block of eight rows, in registers: four sub-blocks of each row in turn, then the next four.
#[derive(Clone, Copy)]
pub(super) struct Scales<T: Target> {
    scales: [T::Bytes; 4],
    mins: [T::Bytes; 4],
}

impl<T: Target> Scales<T> {
    #[inline(always)]
    pub(super) fn new<B: Quantized>(target: T, octet: impl Octet<B>) -> Self {
        let [scales, mins] = B::octet_scales(target, octet);
        Self { scales, mins }
    }

    /// The scale of sub-block `j`, twice.
    #[inline(always)]
    pub(super) fn sub_block(&self, target: T, j: usize) -> T::Pairs {
        target.signed_pairs(self.scales[j / 4], [j % 4; 2])
    }

    /// What the two sums of 16 activations of a group are multiplied by: minima, or what takes the bias of the codes away
    /// again.
    #[inline(always)]
    pub(super) fn offsets<B: Quantized>(&self, target: T, group: usize) -> T::Pairs {
        let (word, which) = match B::SUB_BLOCK {
            32 => (group / 4, [group % 4; 2]),
            _ => (group / 2, [group % 2 * 2, group % 2 * 2 + 1]),
        };
        if B::HAS_MIN {
            target.unsigned_pairs(self.mins[word], which)
        } else {
            target.mul_pairs(target.signed_pairs(self.scales[word], which), -i16::from(B::BIAS))
        }
    }
}
