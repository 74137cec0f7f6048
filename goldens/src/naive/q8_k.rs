//! Q8_K, which only activations are written in: 256 codes of a byte after a binary32 scale, and sums of 16 codes; 292 bytes.

use super::act;
use super::block::extreme;

/// The bytes of 256 elements.
#[must_use]
pub fn encode(x: &[f32]) -> Vec<u8> {
    let x = act::quantize_k(x);
    let mut block = x.a.to_le_bytes().to_vec();
    block.extend(x.codes.iter().map(|&q| q as u8));
    block.extend(x.sums.iter().flat_map(|&sum| (sum as i16).to_le_bytes()));
    block
}

/// The scale, and the codes that it gives.
pub(super) fn scale_and_codes(x: &[f32]) -> (f32, Vec<i8>) {
    let i = -127.0 / extreme(x);
    if i.is_infinite() {
        return (0.0, vec![0; 256]);
    }
    (1.0 / i, x.iter().map(|v| (v * i).round_ties_even() as i8).collect())
}
