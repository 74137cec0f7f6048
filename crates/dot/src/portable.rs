//! [`Portable`]: what every machine can do, and what the operations of a target mean.

use keepq_blocks::{Bf16, F16};

use crate::float::reduce;
use crate::{LANES, Target, Way};

/// The baseline of whatever the crate is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Target for Portable {
    const WAY: Way = Way::InPlace;
    type F32s = [f32; LANES];
    type I32s = [i32; LANES];
    type Bytes = [u8; 32];
    type Partial = [[i16; 2]; LANES];
    type Pairs = [[i16; 2]; LANES];
    type Spreads = ();

    #[inline(always)]
    fn load_bytes(self, x: &[u8; 32]) -> [u8; 32] {
        *x
    }

    #[inline(always)]
    fn load_codes(self, x: &[i8; 32]) -> [u8; 32] {
        x.map(i8::cast_unsigned)
    }

    #[inline(always)]
    fn store_bytes(self, x: [u8; 32], to: &mut [u8; 32]) {
        *to = x;
    }

    #[inline(always)]
    fn splat_bytes(self, x: [i8; 4]) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.as_chunks_mut::<4>().0.fill(x.map(i8::cast_unsigned));
        bytes
    }

    #[inline(always)]
    fn field(self, mut x: [u8; 32], shift: u32, mask: u8) -> [u8; 32] {
        for byte in &mut x {
            *byte = *byte >> shift & mask;
        }
        x
    }

    #[inline(always)]
    fn join(self, mut low: [u8; 32], high: [u8; 32], shift: u32) -> [u8; 32] {
        for (low, high) in low.iter_mut().zip(high) {
            *low |= high << shift;
        }
        low
    }

    #[inline(always)]
    fn nothing(self) -> [[i16; 2]; LANES] {
        [[0; 2]; LANES]
    }

    // Tests and debug builds find a sum that overflows.
    #[inline(always)]
    fn add_products(self, mut sum: [[i16; 2]; LANES], unsigned: [u8; 32], signed: [u8; 32]) -> [[i16; 2]; LANES] {
        let twos = unsigned.as_chunks::<2>().0.iter().zip(signed.as_chunks::<2>().0);
        for (sum, (a, b)) in sum.as_flattened_mut().iter_mut().zip(twos) {
            for i in 0..2 {
                *sum += i16::from(a[i]) * i16::from(b[i].cast_signed());
            }
        }
        sum
    }

    #[inline(always)]
    fn signed_products(self, a: [u8; 32], b: [u8; 32]) -> [[i16; 2]; LANES] {
        let mut sum = [[0; 2]; LANES];
        let twos = a.as_chunks::<2>().0.iter().zip(b.as_chunks::<2>().0);
        for (sum, (a, b)) in sum.as_flattened_mut().iter_mut().zip(twos) {
            for i in 0..2 {
                *sum += i16::from(a[i].cast_signed()) * i16::from(b[i].cast_signed());
            }
        }
        sum
    }

    #[inline(always)]
    fn widen(self, total: [i32; LANES], sum: [[i16; 2]; LANES]) -> [i32; LANES] {
        self.dot_pairs(total, sum, [1, 1])
    }

    #[inline(always)]
    fn widen_scaled(self, mut total: [i32; LANES], sum: [[i16; 2]; LANES], scale: [[i16; 2]; LANES]) -> [i32; LANES] {
        for lane in 0..LANES {
            for i in 0..2 {
                total[lane] += i32::from(sum[lane][i]) * i32::from(scale[lane][i]);
            }
        }
        total
    }

    #[inline(always)]
    fn dot_pairs(self, mut total: [i32; LANES], a: [[i16; 2]; LANES], b: [i16; 2]) -> [i32; LANES] {
        for lane in 0..LANES {
            total[lane] += i32::from(a[lane][0]) * i32::from(b[0]) + i32::from(a[lane][1]) * i32::from(b[1]);
        }
        total
    }

    #[inline(always)]
    fn unsigned_pairs(self, x: [u8; 32], which: [usize; 2]) -> [[i16; 2]; LANES] {
        let mut pairs = [[0; 2]; LANES];
        for (pair, bytes) in pairs.iter_mut().zip(x.as_chunks::<4>().0) {
            *pair = which.map(|i| i16::from(bytes[i]));
        }
        pairs
    }

    #[inline(always)]
    fn signed_pairs(self, x: [u8; 32], which: [usize; 2]) -> [[i16; 2]; LANES] {
        let mut pairs = [[0; 2]; LANES];
        for (pair, bytes) in pairs.iter_mut().zip(x.as_chunks::<4>().0) {
            *pair = which.map(|i| i16::from(bytes[i].cast_signed()));
        }
        pairs
    }

    #[inline(always)]
    fn mul_pairs(self, x: [[i16; 2]; LANES], by: i16) -> [[i16; 2]; LANES] {
        x.map(|pair| pair.map(|x| x * by))
    }

    #[inline(always)]
    fn lane_bits(self, x: [u8; 32], first: usize, set: u8) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (four, lane) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(x.as_chunks::<4>().0) {
            for (j, byte) in four.iter_mut().enumerate() {
                *byte = set * (u32::from_le_bytes(*lane) >> (first + j) & 1) as u8;
            }
        }
        bytes
    }

    #[inline(always)]
    fn widen_halves(self, x: [u8; 32]) -> [[f32; LANES]; 2] {
        let mut wide = [[0.0; LANES]; 2];
        for (lane, bytes) in x.as_chunks::<4>().0.iter().enumerate() {
            for i in 0..2 {
                wide[i][lane] = F16::from_bits(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]])).to_f32();
            }
        }
        wide
    }

    #[inline(always)]
    fn join_pairs(self, mut a: [[i16; 2]; LANES], b: [[i16; 2]; LANES]) -> [[i16; 2]; LANES] {
        for (a, b) in a.iter_mut().zip(b) {
            a[1] = b[1];
        }
        a
    }

    #[inline(always)]
    fn sums_of_pairs(self, a: [[i16; 2]; LANES], b: [[i16; 2]; LANES]) -> [[i16; 2]; LANES] {
        let mut sums = [[0; 2]; LANES];
        for (sum, [x, y]) in sums.as_flattened_mut().iter_mut().zip(a.into_iter().chain(b)) {
            *sum = x + y;
        }
        sums
    }

    #[inline(always)]
    fn load_pairs(self, x: &[[i16; 2]; LANES]) -> [[i16; 2]; LANES] {
        *x
    }

    #[inline(always)]
    fn store_pairs(self, x: [[i16; 2]; LANES], to: &mut [[i16; 2]; LANES]) {
        *to = x;
    }

    #[inline(always)]
    fn words(self, rows: [&[u8; 16]; LANES]) -> [[u8; 32]; 4] {
        let mut columns = [[0; 32]; 4];
        for (w, column) in columns.iter_mut().enumerate() {
            for (four, row) in column.as_chunks_mut::<4>().0.iter_mut().zip(rows) {
                *four = row.as_chunks::<4>().0[w];
            }
        }
        columns
    }

    #[inline(always)]
    fn widen_f16(self, x: [F16; LANES]) -> [f32; LANES] {
        let mut wide = [0.0; LANES];
        for (wide, x) in wide.iter_mut().zip(x) {
            *wide = x.to_f32();
        }
        wide
    }

    #[inline(always)]
    fn narrow_f16(self, x: [f32; LANES]) -> [F16; LANES] {
        let mut narrow = [F16::default(); LANES];
        for (narrow, x) in narrow.iter_mut().zip(x) {
            *narrow = F16::from_f32(x);
        }
        narrow
    }

    #[inline(always)]
    fn to_bf16(self, mut x: [f32; LANES]) -> [f32; LANES] {
        for x in &mut x {
            *x = Bf16::from_f32(*x).to_f32();
        }
        x
    }

    #[inline(always)]
    fn widen_nibbles(self, x: [[u8; 8]; 2]) -> [[f32; LANES]; 4] {
        let mut wide = [[0.0; LANES]; 4];
        for half in 0..2 {
            for (lane, byte) in x[half].into_iter().enumerate() {
                wide[half][lane] = f32::from(byte & 15);
                wide[2 + half][lane] = f32::from(byte >> 4);
            }
        }
        wide
    }

    #[inline(always)]
    fn sub_bytes(self, x: [u8; 32], by: u8) -> [u8; 32] {
        x.map(|byte| byte.wrapping_sub(by))
    }

    #[inline(always)]
    fn widen_pairs(self, x: [i8; 16]) -> [[i16; 2]; LANES] {
        let mut pairs = [[0; 2]; LANES];
        for (pair, x) in pairs.as_flattened_mut().iter_mut().zip(x) {
            *pair = i16::from(x);
        }
        pairs
    }

    #[inline(always)]
    fn spreads(self) {}

    #[inline(always)]
    fn spread(self, (): (), x: [[i16; 2]; LANES], lane: usize) -> [[i16; 2]; LANES] {
        let [a, b] = x[lane];
        [[a; 2], [a; 2], [a; 2], [a; 2], [b; 2], [b; 2], [b; 2], [b; 2]]
    }

    #[inline(always)]
    fn dot_lanes(self, total: [i32; LANES], a: [[i16; 2]; LANES], b: [[i16; 2]; LANES]) -> [i32; LANES] {
        self.widen_scaled(total, a, b)
    }

    #[inline(always)]
    fn sum_lanes(self, rows: [[i32; LANES]; LANES]) -> [i32; LANES] {
        rows.map(|row| row.iter().sum())
    }

    #[inline(always)]
    fn transpose(self, rows: [[f32; LANES]; LANES]) -> [[f32; LANES]; LANES] {
        let mut columns = [[0.0; LANES]; LANES];
        for (r, row) in rows.iter().enumerate() {
            for (column, x) in columns.iter_mut().zip(row) {
                column[r] = *x;
            }
        }
        columns
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> [i32; LANES] {
        [x; LANES]
    }

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
    fn to_f32(self, x: Self::I32s) -> Self::F32s {
        let mut floats = [0.0; LANES];
        for lane in 0..LANES {
            floats[lane] = x[lane] as f32;
        }
        floats
    }

    #[inline(always)]
    fn sum_float_lanes(self, x: [Self::F32s; LANES]) -> Self::F32s {
        let mut sums = [0.0; LANES];
        for i in 0..LANES {
            sums[i] = reduce(x[i]);
        }
        sums
    }

    #[inline(always)]
    fn prefetch(self, _: *const u8) {}

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
