//! Q2_K: 256 codes of two bits; scales and minima of four bits, for 16 elements each.

use keepq_blocks::GgmlType;

use super::super_block::SuperBlock;
use super::{Dots, Encoder, NaiveType, act};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q2_K,
    elements: 256,
    bytes: 84,
    f16_fields: &[80, 82],
    codes: 16..80,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Search,
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met_k,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: SuperBlock = SuperBlock { bytes: 84, d: 80, min: Some((82, min)), scale, code };

fn scale(block: &[u8], j: usize) -> i32 {
    i32::from(block[j / 16] % 16)
}

fn min(block: &[u8], j: usize) -> i32 {
    i32::from(block[j / 16] / 16)
}

fn code(block: &[u8], j: usize) -> i32 {
    i32::from(block[16 + j / 128 * 32 + j % 32] >> (j / 32 % 4 * 2) & 3)
}
