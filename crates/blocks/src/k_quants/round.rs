//! Roundings that ggml's encoders use, from `core` alone.

/// The nearest integer, ties to even.
///
/// Adding 1.5 · 2^23 leaves a sum no bits for a fraction, and its mantissa holds the integer. That is ggml's way, and
/// what it gives beyond ±2^22 reaches its bytes too: -2^22 for the infinities, 0 for NaN.
#[inline(always)]
pub(crate) fn nearest_int(x: f32) -> i32 {
    let sum = x + 12_582_912.0;
    (sum.to_bits() & 0x007f_ffff) as i32 - 0x0040_0000
}

/// The square root of an `x` that is not negative, correctly rounded: `f32::sqrt` is not in `core`.
///
/// `x = m · 2^e`, where m is an integer from 2^62 on and e even, has the root `√m · 2^(e/2)`. The integer root of m has 32
/// digits, more than an f32 holds; whether it is exact goes into its lowest digit, so that the conversion rounds right.
pub(crate) fn sqrt(x: f32) -> f32 {
    if x == 0.0 || x == f32::INFINITY {
        return x;
    }
    let (fraction, exponent) = (x.to_bits() & 0x007f_ffff, (x.to_bits() >> 23) as i32);
    let (m, e) = if exponent == 0 { (fraction, -149) } else { (fraction | 0x0080_0000, exponent - 150) };
    let m = u64::from(m);
    let shift = m.leading_zeros() as i32;
    let shift = shift - ((e - shift) & 1);
    let (m, e) = (m << shift, e - shift);
    let root = m.isqrt();
    let inexact = u64::from(root * root != m);
    let power = f32::from_bits(((127 + e / 2) as u32) << 23);
    (root | inexact) as f32 * power
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn rounds_ties_to_even() {
        for (x, want) in [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (-2.5, -2), (2.500_001, 3), (-7.0, -7)] {
            assert_eq!(nearest_int(x), want, "{x}");
        }
        for x in [f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(nearest_int(x), -0x0040_0000);
        }
        assert_eq!(nearest_int(f32::INFINITY - f32::INFINITY), 0);
    }

    #[test]
    fn the_root_is_that_of_the_hardware() {
        // 4093 is prime, so that all mantissas' low bits and both parities of the exponent are met.
        for bits in (0..f32::INFINITY.to_bits())
            .step_by(4093)
            .chain(0..5000)
            .chain([f32::MAX.to_bits(), f32::INFINITY.to_bits()])
        {
            let x = f32::from_bits(bits);
            assert_eq!(sqrt(x).to_bits(), x.sqrt().to_bits(), "{x:e}");
        }
    }
}
