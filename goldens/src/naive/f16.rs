//! F16: one number a block.

use keepq_blocks::GgmlType;

use super::half::{f16_bits, read_f16};
use super::{Dots, Encoder, NaiveType, float_dot};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::F16,
    elements: 1,
    bytes: 2,
    f16_fields: &[0],
    codes: 0..0,
    decode: |block| vec![read_f16(block)],
    encoder: Encoder::Naive(|x| f16_bits(x[0]).to_le_bytes().to_vec()),
    dots: Some(Dots {
        dot: |row, x| float_dot::dot(row.chunks(2).map(read_f16), x),
        met: |x| x.to_vec(),
        steps: float_dot::steps,
        parts: |block| vec![f64::from(read_f16(block)).abs()],
    }),
};
