//! Q8_1: Q8_0 with the sum of its elements beside the scale. Never a storage type: ggml's form of activations.

use bytemuck::{Pod, Zeroable};

use crate::{BlockQ8_0, F16};

/// 32 activations in 36 bytes.
///
/// ```text
/// byte 0    2    4                    36
///      | d  | s  | qs[0] … qs[31]     |     x[j] = d * qs[j],  s = d * (qs[0] + … + qs[31])
///       f16  f16   i8
/// ```
///
/// `s` overflows to infinity on real models, so that no kernel of this project reads it: integer sums of the
/// codes take its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ8_1 {
    /// The scale.
    pub d: F16,
    /// The scaled sum of the codes.
    pub s: F16,
    /// The codes, in the order of k.
    pub qs: [i8; 32],
}

const _: () = assert!(size_of::<BlockQ8_1>() == 36 && align_of::<BlockQ8_1>() == 1);

impl BlockQ8_1 {
    /// Quantizes 32 finite elements; bytes equal those of ggml's `quantize_row_q8_1_ref`.
    #[must_use]
    pub fn encode(x: &[f32; 32]) -> Self {
        let (d, qs) = BlockQ8_0::codes(x);
        let sum: i32 = qs.iter().map(|&q| i32::from(q)).sum();
        Self { d: F16::from_f32(d), s: F16::from_f32(sum as f32 * d), qs }
    }
}
