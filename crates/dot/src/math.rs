//! Elementary functions that are the same on every machine.

/// `e^x` within 2 units in the last place, from f32 additions and multiplications only, so that it vectorizes and
/// has the same bits everywhere. Below -87.3 the result is 0 (denormals are not produced), above 88.7 infinity.
///
/// ```
/// assert_eq!(keepq_dot::exp(0.0), 1.0);
/// assert!((keepq_dot::exp(1.0) - std::f32::consts::E).abs() < 5e-7);
/// assert_eq!(keepq_dot::exp(-1000.0), 0.0);
/// ```
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    let bounded = if x > 89.0 { 89.0 } else { x };
    let bounded = if bounded < -88.0 { -88.0 } else { bounded };
    let (p, shifted) = fraction(bounded);
    // 2^n as a product of two powers, since n = 128 (just below overflow) is no exponent.
    let n = shifted.to_bits().wrapping_sub(TO_INTEGER.to_bits()) as i32;
    let half = n >> 1;
    let power = |e: i32| f32::from_bits(((e + 127) << 23) as u32);
    let value = p * power(half) * power(n - half);
    let value = if x < LEAST { 0.0 } else { value };
    let value = if x > 88.722_84 { f32::INFINITY } else { value };
    if x.is_nan() { x } else { value }
}

/// [`exp`] of what is not above 0, or is NaN: the same bits in two thirds of the operations.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f32) -> f32 {
    let (p, shifted) = fraction(x);
    // From `LEAST` on n is an exponent; its place in the sum's bits is the lowest.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    if x < LEAST { 0.0 } else { p * power }
}

/// Below this powers are denormal.
const LEAST: f32 = -87.336_54;

/// 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// `e^x / 2^n`, and `n + TO_INTEGER`, with n the nearest integer to `x * log2(e)`.
#[inline(always)]
fn fraction(x: f32) -> (f32, f32) {
    // ln 2 in two parts: n * LN2_HIGH is exact for |n| < 2^9.
    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;

    let shifted = x * core::f32::consts::LOG2_E + TO_INTEGER;
    let n = shifted - TO_INTEGER;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor's series to the seventh power: |r| <= ln 2 / 2, so that the rest is under 2^-27.
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    ((p * r) * r + r + 1.0, shifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_two_units_in_the_last_place() {
        // A prime step over all positive and negative floats up to 88.7 in magnitude.
        for bits in (0..0x42b1_7218_u32).step_by(1009) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let (got, want) = (exp(x), libm::exp(f64::from(x)));
                if x < -87.336_54 {
                    assert_eq!(got, 0.0);
                    continue;
                }
                let unit = f64::from(f32::from_bits((want as f32).to_bits() + 1)) - f64::from(want as f32);
                assert!((f64::from(got) - want).abs() <= 2.0 * unit, "exp({x:e}) = {got:e}, {want:e}");
            }
        }
    }

    #[test]
    fn of_what_is_not_above_zero_the_short_way_has_the_same_bits() {
        let all = (0..=0x7f80_0000_u32).step_by(61);
        for x in all
            .chain([0x42ae_ac4f, 0x42ae_ac50, 0x42ae_ac51, 0x7f7f_ffff, 0x7f80_0000])
            .map(|bits| -f32::from_bits(bits))
        {
            assert_eq!(exp_of_negative(x).to_bits(), exp(x).to_bits(), "exp({x:e})");
        }
        assert_eq!(exp_of_negative(0.0), 1.0);
        assert!(exp_of_negative(f32::NAN).is_nan());
    }

    #[test]
    fn edges() {
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(88.73), f32::INFINITY);
        assert!(exp(88.72).is_finite());
        assert!(exp(f32::NAN).is_nan());
        assert_eq!(exp(-0.0), 1.0);
    }
}
