//! BF16: one number a block.

use keepq_blocks::GgmlType;

use super::{Dots, Encoder, NaiveType, float_dot};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::BF16,
    elements: 1,
    bytes: 2,
    f16_fields: &[],
    codes: 0..0,
    decode: |block| vec![value(block)],
    encoder: Encoder::Naive(|x| bits(x[0]).to_le_bytes().to_vec()),
    dots: Some(Dots {
        dot: |row, x| float_dot::dot(row.chunks(2).map(value), x),
        met: |x| x.to_vec(),
        steps: float_dot::steps,
        parts: |block| vec![f64::from(value(block)).abs()],
    }),
};

/// The upper half of a binary32.
pub(crate) fn value(bytes: &[u8]) -> f32 {
    f32::from_bits(u32::from_le_bytes([0, 0, bytes[0], bytes[1]]))
}

/// The nearest, ties to even.
pub(crate) fn bits(x: f32) -> u16 {
    if x.is_nan() {
        return 0x7fc0;
    }
    let upper = (x.to_bits() >> 16) as u16;
    let rest = x.to_bits() & 0xffff;
    let up = rest > 0x8000 || (rest == 0x8000 && upper % 2 == 1);
    upper + u16::from(up)
}
