//! int8: rows of signed bytes, one scale a row, by int8 activations. What per-channel int4 has to be faster than.

use keepq_dot::{LANES, Target, Way};
use keepq_tinygemm::Acts;

/// Codes that go together.
const CHUNK: usize = 32;

/// The longest row: beyond it sums of products of 127 by 127 could leave 32 bits.
pub(crate) const MAX_K: usize = 1 << 17;

/// Bytes ahead of its use that a row is fetched.
const AHEAD: usize = 512;

/// See [`Tier::int8_strip`](crate::Tier::int8_strip).
pub(crate) fn strip<T: Target>(target: T, codes: &[i8], scales: &[f32], x: Acts<'_>, y: &mut [f32]) {
    let (n, k) = (scales.len(), x.k());
    assert!(k <= MAX_K, "rows of {k} codes");
    assert!(
        codes.len() == n * k && y.len() == x.m() * n,
        "x[{},{k}], {} codes, {n} rows, y of {}",
        x.m(),
        codes.len(),
        y.len()
    );
    for t in 0..x.m() {
        let y = &mut y[t * n..][..n];
        target.run(
            #[inline(always)]
            || match T::WAY {
                Way::InPlace => row_by_row(codes, scales, x.codes(t), x.scale(t), y),
                Way::Octets => eight_rows(target, codes, scales, x.codes(t), x.scale(t), y),
            },
        );
    }
}

/// All rows by one token, in what a compiler makes of plain sums: eight times as fast on a baseline as eight rows at a time.
#[inline(always)]
fn row_by_row(codes: &[i8], scales: &[f32], x: &[i8], x_scale: f32, y: &mut [f32]) {
    /// Sums side by side.
    const SUMS: usize = 16;
    let (x, x_rest) = x.as_chunks::<SUMS>();
    let k = SUMS * x.len() + x_rest.len();
    for (r, (y, scale)) in y.iter_mut().zip(scales).enumerate() {
        let (row, row_rest) = codes[r * k..][..k].as_chunks::<SUMS>();
        let mut sums = [0; SUMS];
        for (row, x) in row.iter().zip(x) {
            for i in 0..SUMS {
                // A product of 127 by 127 fits.
                sums[i] += i32::from(i16::from(row[i]) * i16::from(x[i]));
            }
        }
        let rest: i32 = row_rest.iter().zip(x_rest).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        *y = (sums.iter().sum::<i32>() + rest) as f32 * x_scale * scale;
    }
}

/// All rows by one token, eight at a time.
#[inline(always)]
fn eight_rows<T: Target>(target: T, codes: &[i8], scales: &[f32], x: &[i8], x_scale: f32, y: &mut [f32]) {
    let (k, n) = (x.len(), y.len());
    let (x, rest) = x.as_chunks::<CHUNK>();
    let last = padded(rest);
    for first in (0..n).step_by(LANES) {
        let (mut rows, mut lasts) = ([&[][..]; LANES], [[0; CHUNK]; LANES]);
        let mut row_scales = [0.0; LANES];
        for r in 0..LANES {
            // The last row again where there are no more.
            let row = (first + r).min(n - 1);
            let (whole, rest) = codes[row * k..][..k].as_chunks::<CHUNK>();
            rows[r] = &whole[..x.len()];
            lasts[r] = padded(rest);
            row_scales[r] = scales[row];
        }
        let mut sums = [target.splat_i32(0); LANES];
        for (i, x) in x.iter().enumerate() {
            let x = target.load_codes(x);
            for r in 0..LANES {
                target.prefetch(rows[r].as_ptr().wrapping_add(i).cast::<u8>().wrapping_add(AHEAD));
                // Of the two the token's codes give the sign, so that their size is taken once for eight rows.
                let products = target.signed_products(x, target.load_codes(&rows[r][i]));
                sums[r] = target.widen(sums[r], products);
            }
        }
        if !rest.is_empty() {
            let x = target.load_codes(&last);
            for r in 0..LANES {
                sums[r] = target.widen(sums[r], target.signed_products(x, target.load_codes(&lasts[r])));
            }
        }
        let sums = target.to_f32(target.sum_lanes(sums));
        let scaled = target.mul(target.mul(sums, target.splat(x_scale)), target.load(&row_scales));
        let mut out = [0.0; LANES];
        target.store(scaled, &mut out);
        let y = &mut y[first..n.min(first + LANES)];
        y.copy_from_slice(&out[..y.len()]);
    }
}

/// The codes that fill no chunk, and zeros.
#[inline(always)]
fn padded(rest: &[i8]) -> [i8; CHUNK] {
    let mut last = [0; CHUNK];
    last[..rest.len()].copy_from_slice(rest);
    last
}
