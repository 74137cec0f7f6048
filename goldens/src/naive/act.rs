//! Activations: blocks of 32 for the types with as many, blocks of 256 for super-blocks.

use super::half::{f16_bits, f16_value};
use super::{q8_0, q8_k};

/// One block of activations.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantized {
    /// The scale, as it is stored: in blocks of 32 rounded to binary16.
    pub a: f32,
    /// The codes, -127 to 127.
    pub codes: Vec<i8>,
    /// The sums of 16 codes each.
    pub sums: Vec<i32>,
}

impl Quantized {
    fn new(a: f32, codes: Vec<i8>) -> Self {
        let sums = codes.chunks(16).map(|codes| codes.iter().map(|&q| i32::from(q)).sum()).collect();
        Self { a, codes, sums }
    }

    /// The sum of all codes.
    #[must_use]
    pub fn sum(&self) -> i32 {
        self.sums.iter().sum()
    }
}

/// Quantizes 32 elements.
#[must_use]
pub fn quantize(x: &[f32]) -> Quantized {
    if !is_finite(x) {
        return Quantized::new(f32::NAN, vec![0; 32]);
    }
    let (d, codes) = q8_0::scale_and_codes(x);
    Quantized::new(f16_value(f16_bits(d)), codes)
}

/// Quantizes 256 elements.
#[must_use]
pub fn quantize_k(x: &[f32]) -> Quantized {
    if !is_finite(x) {
        return Quantized::new(f32::NAN, vec![0; 256]);
    }
    let (d, codes) = q8_k::scale_and_codes(x);
    Quantized::new(d, codes)
}

/// What a token is when it meets weights of 32: `a * q`.
pub(super) fn met(x: &[f32]) -> Vec<f32> {
    x.chunks(32).flat_map(|x| values(&quantize(x))).collect()
}

/// What a token is when it meets super-blocks.
pub(super) fn met_k(x: &[f32]) -> Vec<f32> {
    x.chunks(256).flat_map(|x| values(&quantize_k(x))).collect()
}

fn values(Quantized { a, codes, .. }: &Quantized) -> Vec<f32> {
    codes.iter().map(|&q| a * f32::from(q)).collect()
}

pub(super) fn is_finite(x: &[f32]) -> bool {
    !x.iter().any(|v| v.is_nan() || v.is_infinite())
}
