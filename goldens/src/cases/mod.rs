//! The cases, one file a family.

mod act;
mod decode;
mod dot;
mod encode;
mod four_bit;
mod gemm;
mod indexed;
mod kn;
mod rows;

use crate::Case;

/// All golden cases, in the order of their families.
#[must_use]
pub fn cases() -> Vec<Case> {
    [
        decode::cases(),
        encode::cases(),
        act::cases(),
        dot::cases(),
        gemm::cases(),
        indexed::cases(),
        kn::cases(),
        rows::cases(),
        four_bit::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Cases without a golden: `rows` rows for every conversion that ggml defines, other ones for each seed.
///
/// They are there to be compared with a live ggml, as [`Case::foreign`] asks.
#[must_use]
pub fn fresh_cases(seed: u64, rows: usize) -> Vec<Case> {
    [decode::fresh(seed, rows), encode::fresh(seed, rows), act::fresh(seed, rows)]
        .into_iter()
        .flatten()
        .filter(|case| case.foreign().is_some())
        .collect()
}
