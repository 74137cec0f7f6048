//! Q8_1, which only activations are written in: Q8_0 with the scaled sum of the codes after the scale, 36 bytes.

use super::half::f16_bits;
use super::{act, q8_0};

/// The bytes of 32 elements.
#[must_use]
pub fn encode(x: &[f32]) -> Vec<u8> {
    let (d, codes) = if act::is_finite(x) { q8_0::scale_and_codes(x) } else { (f32::NAN, vec![0; 32]) };
    let sum: i32 = codes.iter().map(|&q| i32::from(q)).sum();
    let mut block = f16_bits(d).to_le_bytes().to_vec();
    block.extend(f16_bits(sum as f32 * d).to_le_bytes());
    block.extend(codes.iter().map(|&q| q as u8));
    block
}
