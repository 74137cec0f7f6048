//! Q6_K: 256 codes of six bits, whose upper two lie apart; scales of a byte, for 16 elements each.

use keepq_blocks::GgmlType;

use super::super_block::SuperBlock;
use super::{Dots, Encoder, NaiveType, act};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q6_K,
    elements: 256,
    bytes: 210,
    f16_fields: &[208],
    codes: 0..192,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Search,
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met_k,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: SuperBlock = SuperBlock { bytes: 210, d: 208, min: None, scale, code };

fn scale(block: &[u8], j: usize) -> i32 {
    i32::from(block[192 + j / 16] as i8)
}

fn code(block: &[u8], j: usize) -> i32 {
    let nibble = block[j / 128 * 64 + j % 64] >> (j / 64 % 2 * 4) & 15;
    let upper = block[128 + j / 128 * 32 + j % 32] >> (j / 32 % 4 * 2) & 3;
    i32::from(nibble + 16 * upper) - 32
}
