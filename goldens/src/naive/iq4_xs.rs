//! IQ4_XS: the codes of IQ4_NL in super-blocks, with scales of six bits, for 32 elements each; 136 bytes. Decoded only.

use keepq_blocks::GgmlType;

use super::half::read_f16;
use super::iq4_nl::value;
use super::{Encoder, NaiveType};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::IQ4_XS,
    elements: 256,
    bytes: 136,
    f16_fields: &[0],
    codes: 8..136,
    decode,
    encoder: Encoder::None,
    dots: None,
};

fn decode(block: &[u8]) -> Vec<f32> {
    let element = |j: usize| {
        let qs = &block[8 + j / 32 * 16..];
        (read_f16(block) * scale(block, j / 32) as f32) * value(qs, j % 32)
    };
    (0..256).map(element).collect()
}

/// Two bits of each scale lie in a u16 after `d`, four in four bytes after that; the first part's are the lowest.
fn scale(block: &[u8], i: usize) -> i32 {
    let high = block[2 + i / 4] >> (i % 4 * 2) & 3;
    let low = block[4 + i / 2] >> (i % 2 * 4) & 15;
    i32::from(low + 16 * high) - 32
}
