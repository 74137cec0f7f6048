//! Q4_K: 256 codes of four bits; scales and minima of six bits, for 32 elements each.

use keepq_blocks::GgmlType;

use super::super_block::SuperBlock;
use super::{Dots, Encoder, NaiveType, act, six_bits};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q4_K,
    elements: 256,
    bytes: 144,
    f16_fields: &[0, 2],
    codes: 16..144,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Search,
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met_k,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: SuperBlock = SuperBlock { bytes: 144, d: 0, min: Some((2, min)), scale, code };

fn scale(block: &[u8], j: usize) -> i32 {
    six_bits::scale(&block[4..16], j / 32)
}

fn min(block: &[u8], j: usize) -> i32 {
    six_bits::min(&block[4..16], j / 32)
}

fn code(block: &[u8], j: usize) -> i32 {
    i32::from(block[16 + j / 64 * 32 + j % 32] >> (j / 32 % 2 * 4) & 15)
}
