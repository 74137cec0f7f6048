//! Q8_0: 32 codes of a byte and a scale in 34 bytes.

use keepq_blocks::GgmlType;

use super::block::{Block, extreme};
use super::half::f16_bits;
use super::{Dots, Encoder, NaiveType, act};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q8_0,
    elements: 32,
    bytes: 34,
    f16_fields: &[0],
    codes: 2..34,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Naive(encode),
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: Block = Block { bytes: 34, has_min: false, code: |block, j| i32::from(block[2 + j] as i8) };

fn encode(x: &[f32]) -> Vec<u8> {
    let (d, codes) = scale_and_codes(x);
    let mut block = f16_bits(d).to_le_bytes().to_vec();
    block.extend(codes.iter().map(|&q| q as u8));
    block
}

/// The scale before it is rounded, and the codes that it gives.
pub(super) fn scale_and_codes(x: &[f32]) -> (f32, Vec<i8>) {
    let d = extreme(x).abs() / 127.0;
    let i = 1.0 / d;
    if i.is_infinite() {
        return (0.0, vec![0; 32]);
    }
    // `round` takes halves away from zero.
    (d, x.iter().map(|v| (v * i).round() as i8).collect())
}
