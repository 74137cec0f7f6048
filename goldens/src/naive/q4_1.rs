//! Q4_1: 32 codes of four bits, a scale and a minimum in 20 bytes.

use keepq_blocks::GgmlType;

use super::block::{Block, from_min};
use super::half::f16_bits;
use super::{Dots, Encoder, NaiveType, act, nibbles};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q4_1,
    elements: 32,
    bytes: 20,
    f16_fields: &[0, 2],
    codes: 4..20,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Naive(encode),
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: Block = Block { bytes: 20, has_min: true, code };

fn code(block: &[u8], j: usize) -> i32 {
    i32::from(nibbles::nibble(&block[4..], j))
}

fn encode(x: &[f32]) -> Vec<u8> {
    let (d, min, codes) = from_min(x, 15);
    let fields = [d, min].map(|v| f16_bits(v).to_le_bytes());
    [fields.concat(), nibbles::join(&codes)].concat()
}
