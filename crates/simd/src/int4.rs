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

/// Codes of a token's piece: of even columns, then of odd ones. Past the last are zeros.
type Split = [[[i8; BYTES]; PIECE]; 2];

/// See [`Tier::int4_strip`](crate::Tier::int4_strip).
pub(crate) fn strip<T: Target>(target: T, w: &QuantizedMatrixQ4, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
    let n = rows.len();
    assert!(x.k() == w.k() && y.len() == x.m() * n, "x[{},{}] and y of {} for {n} rows", x.m(), x.k(), y.len());
    assert!(rows.start <= rows.end && rows.end <= w.n(), "rows {rows:?} of {}", w.n());
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
    let mut split: [Split; M] = [[[[0; BYTES]; PIECE]; 2]; M];
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
    for t in 0..M {
        let bias: i32 = x.sums(first + t).iter().map(|&sum| 8 * i32::from(sum)).sum();
        for (r, row) in rows.clone().enumerate() {
            let scale = w.row(row).map_or(0.0, |(_, scale)| scale);
            y[t * n + r] = (sums[t][r] - bias) as f32 * x.scale(first + t) * scale;
        }
    }
}

/// Codes of even columns, then of odd ones; zeros past the last.
#[inline(always)]
fn split_codes(codes: &[i8], [even, odd]: &mut Split) {
    let (even, odd) = (even.as_flattened_mut(), odd.as_flattened_mut());
    let (twos, rest) = codes.as_chunks();
    for (i, [first, second]) in twos.iter().enumerate() {
        (even[i], odd[i]) = (*first, *second);
    }
    even[twos.len()..].fill(0);
    odd[twos.len()..].fill(0);
    if let [last] = rest {
        even[twos.len()] = *last;
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
    let (mut registers, mut last) = ([&[][..]; R], [[0; BYTES]; R]);
    for r in 0..R {
        let (whole, rest) = bytes[r].as_chunks::<BYTES>();
        registers[r] = whole;
        last[r][..rest.len()].copy_from_slice(rest);
    }
    let whole = registers[0].len();
    for from in (0..whole / NARROW * NARROW).step_by(NARROW) {
        let mut sums = [[target.nothing(); R]; M];
        for i in from..from + NARROW {
            for r in 0..R {
                let bytes = target.load_bytes(&registers[r][i]);
                add_register(target, bytes, r, i, split, &mut sums);
            }
        }
        for t in 0..M {
            for r in 0..R {
                isums[t][r] = target.widen(isums[t][r], sums[t][r]);
            }
        }
    }
    // Fewer than four whole ones, and what fills none.
    let mut sums = [[target.nothing(); R]; M];
    for i in whole / NARROW * NARROW..whole + usize::from(!bytes[0].len().is_multiple_of(BYTES)) {
        for r in 0..R {
            let bytes = target.load_bytes(registers[r].get(i).unwrap_or(&last[r]));
            add_register(target, bytes, r, i, split, &mut sums);
        }
    }
    for t in 0..M {
        for r in 0..R {
            isums[t][r] = target.widen(isums[t][r], sums[t][r]);
        }
    }
    isums
}

/// Adds the products of register `i` of row `r` and each token.
#[inline(always)]
fn add_register<T: Target, const R: usize, const M: usize>(
    target: T,
    bytes: T::Bytes,
    r: usize,
    i: usize,
    split: &[Split; M],
    sums: &mut [[T::Partial; R]; M],
) {
    let codes = [target.field(bytes, 0, 15), target.field(bytes, 4, 15)];
    for t in 0..M {
        for parity in 0..2 {
            sums[t][r] = target.add_products(sums[t][r], codes[parity], target.load_codes(&split[t][parity][i]));
        }
    }
}
