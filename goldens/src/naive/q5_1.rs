//! Q5_1: 32 codes of five bits, a scale and a minimum in 24 bytes; the fifth bits lie together.

use keepq_blocks::GgmlType;

use super::block::{Block, from_min};
use super::half::f16_bits;
use super::{Dots, Encoder, NaiveType, act, nibbles};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q5_1,
    elements: 32,
    bytes: 24,
    f16_fields: &[0, 2],
    codes: 4..24,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Naive(encode),
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: Block = Block { bytes: 24, has_min: true, code };

fn code(block: &[u8], j: usize) -> i32 {
    i32::from(nibbles::nibble(&block[8..], j) + 16 * nibbles::fifth_bit(&block[4..], j))
}

fn encode(x: &[f32]) -> Vec<u8> {
    let (d, min, codes) = from_min(x, 31);
    let fields = [d, min].map(|v| f16_bits(v).to_le_bytes());
    [fields.concat(), nibbles::join_fifth_bits(&codes), nibbles::join(&codes)].concat()
}
