//! binary16 by its definition.

/// The value of 16 bits: `(-1)^sign * 2^(exponent - 15) * 1.fraction`, without the 1 for exponent 0.
pub(crate) fn f16_value(bits: u16) -> f32 {
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    let magnitude = match exponent {
        0 => fraction / 1024.0 * power_of_two(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * power_of_two(exponent - 15),
    };
    // Every binary16 value is a binary32 one.
    if bits >> 15 == 1 { -magnitude as f32 } else { magnitude as f32 }
}

/// The bits of the nearest value, ties to even.
///
/// Seen as an integer, the magnitude's bits count in units of the last place; a fraction that is rounded up to 1024
/// runs over into the exponent, as it should.
pub(crate) fn f16_bits(x: f32) -> u16 {
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = f64::from(x).abs();
    if magnitude.is_nan() {
        return 0x7e00;
    }
    let mut exponent = -14; // of the unit's binade; smaller values are denormals, with the unit of this one
    while exponent < 16 && magnitude >= power_of_two(exponent + 1) {
        exponent += 1;
    }
    if exponent == 16 {
        return sign | 0x7c00;
    }
    let units = (magnitude / power_of_two(exponent - 10)).round_ties_even() as u16;
    // 65,520 and more come out as 0x7c00: infinity.
    sign | (((exponent + 14) as u16) * 1024 + units)
}

/// The value of two little-endian bytes.
pub(crate) fn read_f16(bytes: &[u8]) -> f32 {
    f16_value(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn power_of_two(exponent: i32) -> f64 {
    2.0_f64.powi(exponent)
}
