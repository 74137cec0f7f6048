//! Fused multiply-add, which float weights are defined by.

/// How a tier computes `a * b + c` with one rounding. All give the same bits, as IEEE 754 says.
pub trait Fused: Copy {
    /// `a * b + c`, rounded once.
    fn fma(a: f32, b: f32, c: f32) -> f32;
}

/// Fused multiply-add from ordinary f64 arithmetic: what the portable tier uses.
///
/// A call to a C library's `fmaf`, or to a software one that takes numbers apart, costs several times as much and
/// does not vectorize; this is straight-line code and does.
#[derive(Clone, Copy, Debug)]
pub struct SoftFused;

impl Fused for SoftFused {
    /// The product of two f32 is exact in f64 (48 bits of 53). The sum is then rounded *to odd*: its error is
    /// computed exactly (Knuth's two-sum), and where there is one and the last bit is even, the neighbour on the
    /// side of the error is taken. Rounding that to f32 gives what one rounding would have given, as f64 has more
    /// than two bits to spare (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        let product = f64::from(a) * f64::from(b);
        let c = f64::from(c);
        let sum = product + c;
        let virtual_c = sum - product;
        let error = (product - (sum - virtual_c)) + (c - virtual_c);
        let bits = sum.to_bits();
        // Away from zero where the error has the sign of the sum, else towards it. With an infinity or a NaN the
        // error is NaN or 0, and neither comparison holds.
        let away = (error > 0.0) & (sum > 0.0) | (error < 0.0) & (sum < 0.0);
        let towards = (error < 0.0) & (sum > 0.0) | (error > 0.0) & (sum < 0.0);
        let even = (bits & 1) ^ 1;
        let odd = bits.wrapping_add(even & u64::from(away)).wrapping_sub(even & u64::from(towards));
        f64::from_bits(odd) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: f32, b: f32, c: f32) {
        let (got, want) = (SoftFused::fma(a, b, c), libm::fmaf(a, b, c));
        assert!(
            got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
            "{a:e} * {b:e} + {c:e}: {got:e} against {want:e}"
        );
    }

    #[test]
    fn agrees_with_libm_on_all_pairs_of_edges() {
        let mut edges = alloc::vec![0.0, 1.0, 1.5, 3.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
        edges.extend(
            [1, 2, 0x7f_ffff, 0x80_0001, 0x3f80_0001, 0x3f7f_ffff, 0x3380_0000, 0x3400_0001].map(f32::from_bits),
        );
        edges.extend(edges.clone().iter().map(|v| -v));
        for &a in &edges {
            for &b in &edges {
                edges.iter().for_each(|&c| check(a, b, c));
            }
        }
    }

    #[test]
    fn agrees_with_libm_on_random_bits_and_on_near_cancellation() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 32) as u32
        };
        for _ in 0..400_000 {
            let [a, b, c] = [next(), next(), next()].map(f32::from_bits);
            check(a, b, c);
            // Same magnitude as the product, give or take 28 binary places: halfway cases and cancellation.
            let [a, b] = [a, b].map(|v| f32::from_bits(v.to_bits() & 0x807f_ffff | 0x3f80_0000));
            let shift = (next() % 57) as i32 - 28;
            let c = f32::from_bits(next() & 0x8000_ff00 | ((127 + shift) as u32) << 23);
            check(a, b, c);
            check(a, b, -(a * b));
        }
    }
}
