//! MXFP4: 32 floats of four bits (E2M1) and an exponent in 17 bytes. Decoded only.

use keepq_blocks::GgmlType;

use super::{Encoder, NaiveType, nibbles};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::MXFP4,
    elements: 32,
    bytes: 17,
    f16_fields: &[],
    codes: 1..17,
    decode,
    encoder: Encoder::None,
    dots: None,
};

fn decode(block: &[u8]) -> Vec<f32> {
    // Exact in f64; all of these values are binary32 ones.
    let scale = 2.0_f64.powi(i32::from(block[0]) - 128);
    (0..32).map(|j| (f64::from(doubled(nibbles::nibble(&block[1..], j))) * scale) as f32).collect()
}

/// Twice the value of a sign, two bits of exponent (of bias 1) and one of fraction: an integer, so that there is no -0.0.
fn doubled(code: u8) -> i32 {
    let (exponent, fraction) = (code / 2 % 4, i32::from(code % 2));
    let magnitude = match exponent {
        0 => fraction,
        _ => (2 + fraction) << (exponent - 1),
    };
    if code / 8 == 1 { -magnitude } else { magnitude }
}
