//! Activations for all types of blocks of 32.

use super::half::{f16_bits, f16_value};
use super::q8_0;

/// One block of activations.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantized {
    /// The scale, as it is stored: rounded to binary16.
    pub a: f32,
    /// 32 codes, -127 to 127.
    pub codes: Vec<i8>,
    /// The sum of the codes.
    pub sum: i32,
}

/// Quantizes 32 elements.
#[must_use]
pub fn quantize(x: &[f32]) -> Quantized {
    if x.iter().any(|v| v.is_nan() || v.is_infinite()) {
        return Quantized { a: f32::NAN, codes: vec![0; 32], sum: 0 };
    }
    let (d, codes) = q8_0::scale_and_codes(x);
    let sum = codes.iter().map(|&q| i32::from(q)).sum();
    Quantized { a: f16_value(f16_bits(d)), codes, sum }
}

/// What a token is when it meets weights: `a * q`.
pub(super) fn met(x: &[f32]) -> Vec<f32> {
    let block = |x| {
        let Quantized { a, codes, .. } = quantize(x);
        codes.into_iter().map(move |q| a * f32::from(q))
    };
    x.chunks(32).flat_map(block).collect()
}
