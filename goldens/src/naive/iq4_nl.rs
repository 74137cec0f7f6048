//! IQ4_NL: 32 codes of four bits, which stand for the values of a table, and a scale in 18 bytes. Decoded only.

use keepq_blocks::GgmlType;

use super::half::read_f16;
use super::{Encoder, NaiveType, nibbles};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::IQ4_NL,
    elements: 32,
    bytes: 18,
    f16_fields: &[0],
    codes: 2..18,
    decode: |block| (0..32).map(|j| read_f16(block) * value(&block[2..], j)).collect(),
    encoder: Encoder::None,
    dots: None,
};

/// The table's value for element j of 32.
pub(super) fn value(qs: &[u8], j: usize) -> f32 {
    const T: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
    f32::from(T[usize::from(nibbles::nibble(qs, j))])
}
