//! Q3_K: 256 codes of three bits, whose third bits lie apart; scales of six bits, for 16 elements each.

use keepq_blocks::GgmlType;

use super::super_block::SuperBlock;
use super::{Dots, Encoder, NaiveType, act};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q3_K,
    elements: 256,
    bytes: 110,
    f16_fields: &[108],
    codes: 0..96,
    decode: |block| BLOCK.decode(block),
    encoder: Encoder::Search,
    dots: Some(Dots {
        dot: |row, x| BLOCK.dot(row, x),
        met: act::met_k,
        steps: |k| BLOCK.steps(k),
        parts: |block| BLOCK.parts(block),
    }),
};

const BLOCK: SuperBlock = SuperBlock { bytes: 110, d: 108, min: None, scale, code };

fn scale(block: &[u8], j: usize) -> i32 {
    let (i, scales) = (j / 16, &block[96..108]);
    let low = if i < 8 { scales[i] % 16 } else { scales[i - 8] / 16 };
    let high = scales[8 + i % 4] >> (i / 4 * 2) & 3;
    i32::from(low + 16 * high) - 32
}

fn code(block: &[u8], j: usize) -> i32 {
    let low = i32::from(block[32 + j / 128 * 32 + j % 32] >> (j / 32 % 4 * 2) & 3);
    let third = block[j % 32] >> (j / 32) & 1;
    if third == 0 { low - 4 } else { low }
}
