//! [`Target`]: an instruction set as kernels see it.

/// Lanes of [`Target::F32s`].
pub const LANES: usize = 8;

/// Eight floats side by side, what an instruction set does with them, and how bodies are compiled for it.
///
/// Kernels are written once over this trait. All targets give the same bits: each lane is IEEE 754.
pub trait Target: Copy {
    /// Eight floats in registers.
    type F32s: Copy;

    /// Eight 32-bit integers in registers.
    type I32s: Copy;

    /// `x` in all lanes.
    fn splat(self, x: f32) -> Self::F32s;

    /// Eight floats from memory.
    fn load(self, x: &[f32; LANES]) -> Self::F32s;

    /// Eight floats to memory.
    fn store(self, x: Self::F32s, to: &mut [f32; LANES]);

    /// `a + b`, rounded.
    fn add(self, a: Self::F32s, b: Self::F32s) -> Self::F32s;

    /// `a * b`, rounded.
    fn mul(self, a: Self::F32s, b: Self::F32s) -> Self::F32s;

    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::F32s, b: Self::F32s, c: Self::F32s) -> Self::F32s;

    /// `a * b + c` of integers under 2^24 whose product and sum are, too: exact in any way.
    #[inline(always)]
    fn exact(self, a: Self::F32s, b: Self::F32s, c: Self::F32s) -> Self::F32s {
        self.add(self.mul(a, b), c)
    }

    /// Whole numbers within i32, converted exactly.
    fn to_i32(self, x: Self::F32s) -> Self::I32s;

    /// `a + b`, which does not overflow.
    fn add_i32(self, a: Self::I32s, b: Self::I32s) -> Self::I32s;

    /// Integers rounded to the nearest float, half to even.
    fn to_f32(self, x: Self::I32s) -> Self::F32s;

    /// Up to so many tokens quantized weights are multiplied where they lie; from there on, decoding them into a panel pays.
    const IN_PLACE_TOKENS: usize;

    /// Calls `body` once, compiled for this instruction set.
    ///
    /// One body is one function for the compiler: several large ones in one `run` are optimized worse.
    fn run(self, body: impl FnMut());
}

/// The baseline of whatever the crate is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Target for Portable {
    // Measured on baseline x86-64: a panel is slower than that up to eight tokens, by up to a third.
    const IN_PLACE_TOKENS: usize = 10;
    type F32s = [f32; LANES];
    type I32s = [i32; LANES];

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F32s {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> Self::F32s {
        *x
    }

    #[inline(always)]
    fn store(self, x: Self::F32s, to: &mut [f32; LANES]) {
        *to = x;
    }

    #[inline(always)]
    fn add(self, mut a: Self::F32s, b: Self::F32s) -> Self::F32s {
        for lane in 0..LANES {
            a[lane] += b[lane];
        }
        a
    }

    #[inline(always)]
    fn mul(self, mut a: Self::F32s, b: Self::F32s) -> Self::F32s {
        for lane in 0..LANES {
            a[lane] *= b[lane];
        }
        a
    }

    /// In f64, where the product of two f32 is exact (48 bits of 53). Rounding the sum twice, to f64 and then to f32, is
    /// wrong only where the first ends up in the middle between two f32, or among f32's denormals: such eights, one in
    /// millions, are done over with care.
    #[inline(always)]
    fn fma(self, a: Self::F32s, b: Self::F32s, c: Self::F32s) -> Self::F32s {
        let mut rounded = [0.0; LANES];
        let mut doubtful = 0;
        for lane in 0..LANES {
            let sum = f64::from(a[lane]) * f64::from(b[lane]) + f64::from(c[lane]);
            let bits = sum.to_bits();
            let middle = (bits & 0x1fff_ffff) ^ 0x1000_0000; // 0 in the middle: 53 - 24 = 29 bits are cut off
            let exponent = bits >> 52 & 0x7ff;
            // Both comparisons by a borrow into the top bits, which vectorizes as they do not.
            doubtful |=
                middle.wrapping_sub(1) | (exponent.wrapping_sub(1023 - 126)) & u64::from(sum != 0.0).wrapping_neg();
            rounded[lane] = sum as f32;
        }
        if doubtful >> 63 != 0 { fma_with_care(a, b, c) } else { rounded }
    }

    #[inline(always)]
    fn to_i32(self, x: Self::F32s) -> Self::I32s {
        let mut integers = [0; LANES];
        for lane in 0..LANES {
            integers[lane] = x[lane] as i32;
        }
        integers
    }

    #[inline(always)]
    fn add_i32(self, mut a: Self::I32s, b: Self::I32s) -> Self::I32s {
        for lane in 0..LANES {
            a[lane] += b[lane];
        }
        a
    }

    #[inline(always)]
    fn to_f32(self, x: Self::I32s) -> Self::F32s {
        let mut floats = [0.0; LANES];
        for lane in 0..LANES {
            floats[lane] = x[lane] as f32;
        }
        floats
    }

    #[inline(never)]
    fn run(self, mut body: impl FnMut()) {
        body();
    }
}

#[cold]
#[inline(never)]
fn fma_with_care(a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
    core::array::from_fn(|lane| fma(a[lane], b[lane], c[lane]))
}

/// Fused multiply-add from ordinary f64 arithmetic.
///
/// The product of two f32 is exact in f64. The sum is rounded *to odd*: its error is computed exactly (Knuth's two-sum), and where there is one and the last bit is even, the neighbour on the
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: f32, b: f32, c: f32) {
        let want = libm::fmaf(a, b, c);
        let mut lanes = [[1.0; LANES]; 3];
        [lanes[0][5], lanes[1][5], lanes[2][5]] = [a, b, c];
        for got in [fma(a, b, c), Portable.fma(lanes[0], lanes[1], lanes[2])[5]] {
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                "{a:e} * {b:e} + {c:e}: {got:e} against {want:e}"
            );
        }
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
