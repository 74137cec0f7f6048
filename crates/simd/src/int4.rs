//! Per-channel int4: rows of nibbles by int8 activations.
//!
//! A register holds 64 codes of one row, those of even columns in low nibbles and of odd ones in high nibbles: the codes of activations are
//! split into even and odd ones first, once for all rows of a strip. Nibbles stay unsigned; their bias comes in by the sum of activations.

use std::ops::Range;

use keepq_dot::{LANES, Target};
use keepq_tinygemm::Acts;
use keepq_tinygemm::int4::QuantizedMatrixQ4;

/// Rows of a strip whose sums wait on the stack while pieces of k go by.
const ROWS: usize = 64;

/// Bytes of a row in a register.
const BYTES: usize = 32;

/// Registers of a row's piece: 2048 codes. Their sum, at most 2048 · 15 · 127, is a whole number below 2^24, which a float holds.
const PIECE: usize = 32;

/// Registers whose products are added up in 16 bits: 4 · 2 · 2 · 15 · 127 = 30,480 is within 2^15 - 1.
const NARROW: usize = 4;

/// Codes of a token's piece, four registers of even columns and four of odd ones in turn. Past the last are zeros.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Split([[[[i8; BYTES]; NARROW]; 2]; PIECE / NARROW]);

/// That shapes fit each other, as [`Tier::int4_strip`](crate::Tier::int4_strip) says.
pub(crate) fn check(w: &QuantizedMatrixQ4, rows: &Range<usize>, x: Acts<'_>, y: &[f32]) {
    let n = rows.len();
    assert!(x.k() == w.k() && y.len() == x.m() * n, "x[{},{}] and y of {} for {n} rows", x.m(), x.k(), y.len());
    assert!(rows.start <= rows.end && rows.end <= w.n(), "rows {rows:?} of {}", w.n());
}

/// See [`Tier::int4_strip`](crate::Tier::int4_strip).
pub(crate) fn strip<T: Target>(target: T, w: &QuantizedMatrixQ4, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
    let n = rows.len();
    for (r, rows) in rows.clone().step_by(ROWS).map(|row| (row - rows.start, row..rows.end.min(row + ROWS))) {
        for first in (0..x.m()).step_by(2) {
            let y = &mut y[first * n + r..];
            match x.m() - first {
                1 => tokens::<T, 4, 1>(target, w, rows.clone(), x, first, n, y),
                _ => tokens::<T, 2, 2>(target, w, rows.clone(), x, first, n, y),
            }
        }
    }
}

/// `M` tokens by at most [`ROWS`] rows, `R` of which go together: `y[t * n + r]`.
fn tokens<T: Target, const R: usize, const M: usize>(
    target: T,
    w: &QuantizedMatrixQ4,
    rows: Range<usize>,
    x: Acts<'_>,
    first: usize,
    n: usize,
    y: &mut [f32],
) {
    let mut sums = [[0; ROWS]; M];
    let mut split = [Split([[[[0; BYTES]; NARROW]; 2]; PIECE / NARROW]); M];
    for from in (0..w.k()).step_by(PIECE * BYTES * 2) {
        let codes = from..w.k().min(from + PIECE * BYTES * 2);
        target.run(
            #[inline(always)]
            || {
                for t in 0..M {
                    split_codes(&x.codes(first + t)[codes.clone()], &mut split[t]);
                }
            },
        );
        target.run(
            #[inline(always)]
            || {
                for row in rows.clone().step_by(LANES) {
                    let products = eight_rows::<T, R, M>(target, w, row..rows.end, codes.clone(), &split);
                    for t in 0..M {
                        let sums = &mut sums[t][row - rows.start..][..LANES];
                        for r in 0..LANES {
                            sums[r] += products[t][r] as i32;
                        }
                    }
                }
            },
        );
    }
    finish(w, rows, x.tokens(first..first + M), |t, r| sums[t][r], n, y);
}

/// The results of all tokens by `rows`, `y[t * n + r]`: of the sums of products of nibbles, whose bias is taken away, and scaled.
#[inline(always)]
pub(crate) fn finish(
    w: &QuantizedMatrixQ4,
    rows: Range<usize>,
    x: Acts<'_>,
    sum: impl Fn(usize, usize) -> i32,
    n: usize,
    y: &mut [f32],
) {
    for t in 0..x.m() {
        let bias: i32 = x.sums(t).iter().map(|&sum| 8 * i32::from(sum)).sum();
        for (r, row) in rows.clone().enumerate() {
            let scale = w.row(row).map_or(0.0, |(_, scale)| scale);
            y[t * n + r] = (sum(t, r) - bias) as f32 * x.scale(t) * scale;
        }
    }
}

/// Puts codes where [`Split`] has them.
#[inline(always)]
fn split_codes(codes: &[i8], Split(steps): &mut Split) {
    for (i, [even, odd]) in steps.iter_mut().enumerate() {
        let codes = codes.get(i * 2 * NARROW * BYTES..).unwrap_or_default();
        let (even, odd) = (even.as_flattened_mut(), odd.as_flattened_mut());
        match codes.first_chunk::<{ 2 * NARROW * BYTES }>() {
            Some(codes) => {
                for (at, [first, second]) in codes.as_chunks().0.iter().enumerate() {
                    (even[at], odd[at]) = (*first, *second);
                }
            }
            None => {
                even.fill(0);
                odd.fill(0);
                for (at, code) in codes.iter().enumerate() {
                    if at % 2 == 0 { even[at / 2] = *code } else { odd[at / 2] = *code }
                }
            }
        }
    }
}

/// The sums of products of up to eight rows' nibbles, as whole floats. Past the last row the last one stands in.
#[inline(always)]
fn eight_rows<T: Target, const R: usize, const M: usize>(
    target: T,
    w: &QuantizedMatrixQ4,
    rows: Range<usize>,
    codes: Range<usize>,
    split: &[Split; M],
) -> [[f32; LANES]; M] {
    let mut lanes = [[target.splat_i32(0); LANES]; M];
    for first in (0..LANES).step_by(R) {
        let mut bytes: [&[u8]; R] = [&[]; R];
        for r in 0..R {
            let row = (rows.start + first + r).min(rows.end - 1);
            bytes[r] = w.row(row).map_or(&[], |(row, _)| &row[codes.start / 2..codes.end.div_ceil(2)]);
        }
        let isums = chains(target, bytes, split);
        for t in 0..M {
            for r in 0..R {
                lanes[t][first + r] = isums[t][r];
            }
        }
    }
    let mut sums = [[0.0; LANES]; M];
    for t in 0..M {
        target.store(target.to_f32(target.sum_lanes(lanes[t])), &mut sums[t]);
    }
    sums
}

/// The products of `R` rows and `M` tokens, added up in each lane.
#[inline(always)]
fn chains<T: Target, const R: usize, const M: usize>(
    target: T,
    bytes: [&[u8]; R],
    split: &[Split; M],
) -> [[T::I32s; R]; M] {
    let mut isums = [[target.splat_i32(0); R]; M];
    let (mut steps, mut last) = ([&[][..]; R], [[[0; BYTES]; NARROW]; R]);
    for r in 0..R {
        let (registers, rest) = bytes[r].as_chunks::<BYTES>();
        let (whole, registers) = registers.as_chunks::<NARROW>();
        let registers = registers.as_flattened().iter().chain(rest);
        last[r].as_flattened_mut().iter_mut().zip(registers).for_each(|(to, byte)| *to = *byte);
        steps[r] = whole;
    }
    let whole = steps[0].len();
    for step in 0..whole {
        let mut four = [&[[0; BYTES]; NARROW]; R];
        for r in 0..R {
            four[r] = &steps[r][step];
        }
        add_products(target, four, step, split, &mut isums);
    }
    if whole * NARROW * BYTES < bytes[0].len() {
        add_products(target, last.each_ref(), whole, split, &mut isums);
    }
    isums
}

/// Adds the products of four registers of each row, the codes of [`Split`] that are beside them, and each token.
#[inline(always)]
fn add_products<T: Target, const R: usize, const M: usize>(
    target: T,
    four: [&[[u8; BYTES]; NARROW]; R],
    step: usize,
    split: &[Split; M],
    isums: &mut [[T::I32s; R]; M],
) {
    let mut sums = [[target.nothing(); R]; M];
    for i in 0..NARROW {
        for r in 0..R {
            let bytes = target.load_bytes(&four[r][i]);
            let codes = [target.field(bytes, 0, 15), target.field(bytes, 4, 15)];
            for t in 0..M {
                for parity in 0..2 {
                    let x = target.load_codes(&split[t].0[step][parity][i]);
                    sums[t][r] = target.settled(target.add_products(sums[t][r], codes[parity], x));
                }
            }
        }
    }
    for t in 0..M {
        for r in 0..R {
            isums[t][r] = target.settled_i32(target.widen(isums[t][r], sums[t][r]));
        }
    }
}
