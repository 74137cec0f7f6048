//! Q4_0: 32 codes of four bits around 0 and a scale in 18 bytes.

use keepq_blocks::GgmlType;

use super::block::{Block, around_zero};
use super::half::f16_bits;
use super::{Dots, Encoder, NaiveType, act, nibbles};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q4_0,
    elements: 32,
    bytes: 18,
    f16_fields: &[0],
    codes: 2..18,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Naive(encode),
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: Block = Block { bytes: 18, has_min: false, code };

fn code(block: &[u8], j: usize) -> i32 {
    i32::from(nibbles::nibble(&block[2..], j)) - 8
}

fn encode(x: &[f32]) -> Vec<u8> {
    let (d, codes) = around_zero(x, 15);
    [f16_bits(d).to_le_bytes().to_vec(), nibbles::join(&codes)].concat()
}
