//! `w4a16/…`, `w4a8/…`, `int4/…`, `wna16/…`: packed bytes, and products through the driver, of the 4-bit paths beside GGUF.

mod int4;
mod w4a16;
mod w4a8;
mod wna16;

use half::bf16;

use crate::inputs::{Floats, Random};
use crate::naive::bf16_bits;
use crate::{Case, Output};

pub(super) fn cases() -> Vec<Case> {
    [w4a16::cases(), w4a8::cases(), int4::cases(), wna16::cases()].into_iter().flatten().collect()
}

/// `n` rows of `k` codes.
fn codes(n: usize, k: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    (0..n).map(|_| (0..k).map(|_| random.below(16) as u8).collect()).collect()
}

/// Numbers of magnitudes that are far apart, so that every rounding shows.
fn wide(len: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.gaussian() * 2.0_f32.powi(random.below(12) as i32 - 6)).collect()
}

/// Tokens of several kinds in turn.
fn tokens(m: usize, k: usize, seed: u64) -> Vec<f32> {
    let kinds = [Floats::Gaussian, Floats::Outlier, Floats::Asymmetric];
    (0..m).flat_map(|t| kinds[t % kinds.len()].row(k, 1000 * seed + t as u64)).collect()
}

/// The nearest bf16 numbers.
fn bf16s(x: &[f32]) -> Vec<bf16> {
    x.iter().map(|&x| bf16::from_bits(bf16_bits(x))).collect()
}

/// Floats of bf16 numbers.
fn widened(x: &[bf16]) -> Vec<f32> {
    x.iter().map(|x| f32::from_bits(u32::from(x.to_bits()) << 16)).collect()
}

/// Appends results before and after they are rounded to bf16.
fn push(output: &mut Output, y: &[f32], rounded: &[bf16]) {
    output.push_floats(y);
    output.push_floats(&widened(rounded));
}

/// Appends an int8 token.
fn push_token(output: &mut Output, codes: &[i8], scale: f32) {
    for code in codes {
        output.push_bytes(&code.to_le_bytes());
    }
    output.push_floats([&scale]);
}
