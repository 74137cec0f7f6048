//! F32: one number a block.

use keepq_blocks::GgmlType;

use super::{Dots, Encoder, NaiveType, float_dot};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::F32,
    elements: 1,
    bytes: 4,
    f16_fields: &[],
    codes: 0..0,
    decode: |block| vec![value(block)],
    encoder: Encoder::Naive(|x| x[0].to_le_bytes().to_vec()),
    dots: Some(Dots {
        dot: |row, x| float_dot::dot(row.chunks(4).map(value), x),
        met: |x| x.to_vec(),
        steps: float_dot::steps,
        parts: |block| vec![f64::from(value(block)).abs()],
    }),
};

fn value(bytes: &[u8]) -> f32 {
    f32::from_bits(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
