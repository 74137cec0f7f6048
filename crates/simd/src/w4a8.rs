//! W4A8: records of 4-bit codes by int8 activations.
//!
//! Four codes of a row lie side by side, and eight rows fill a register: products of bytes, a lane a row. Codes stay unsigned; zero points
//! come in by the sums of activations.

use std::ops::Range;

use keepq_dot::{LANES, Target};
use keepq_tinygemm::w4a8::{MAX_BLOCK, ROWS, Record, Weights};
use keepq_tinygemm::{Acts, SUM};

/// Tokens at once: eight sums of 16 bits, and as many wide ones.
const TOKENS: usize = 4;

/// Tokens from which records are decoded once for all.
const PANEL_TOKENS: usize = 8;

/// Four codes of each of sixteen rows, a nibble to a byte: those of rows 0 … 7, then of 8 … 15.
type Quad = [[u8; 32]; 2];

/// Quads whose products are added up in 16 bits: 8 · 2 · 15 · 127 = 30,480 is within 2^15 - 1.
const QUADS: usize = SUM / 4;

/// See [`Tier::w4a8_strip`](crate::Tier::w4a8_strip).
pub(crate) fn strip<T: Target>(target: T, w: Weights<'_>, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
    let n = rows.len();
    assert!(x.k() == w.k() && y.len() == x.m() * n, "x[{},{}] and y of {} for {n} rows", x.m(), x.k(), y.len());
    assert!(
        rows.start.is_multiple_of(ROWS) && n.is_multiple_of(ROWS) && rows.end <= w.n(),
        "rows {rows:?} of {}",
        w.n()
    );
    y.fill(0.0);
    if n == 0 {
        return;
    }
    let blocks = rows.start / ROWS..rows.end / ROWS;
    let whole = if x.m() >= PANEL_TOKENS { x.m() / TOKENS * TOKENS } else { 0 };
    if whole > 0 {
        target.run(
            #[inline(always)]
            || panels(target, w, blocks.clone(), x, whole, n, y),
        );
    }
    for first in (whole..x.m()).step_by(TOKENS) {
        let y = &mut y[first * n..];
        match x.m() - first {
            1 => target.run(
                #[inline(always)]
                || direct::<T, 1>(target, w, blocks.clone(), x, first, n, y),
            ),
            2 => target.run(
                #[inline(always)]
                || direct::<T, 2>(target, w, blocks.clone(), x, first, n, y),
            ),
            3 => target.run(
                #[inline(always)]
                || direct::<T, 3>(target, w, blocks.clone(), x, first, n, y),
            ),
            _ => target.run(
                #[inline(always)]
                || direct::<T, TOKENS>(target, w, blocks.clone(), x, first, n, y),
            ),
        }
    }
}

/// A few tokens by the records where they lie.
#[inline(always)]
fn direct<T: Target, const M: usize>(
    target: T,
    w: Weights<'_>,
    blocks: Range<usize>,
    x: Acts<'_>,
    first: usize,
    n: usize,
    y: &mut [f32],
) {
    for (b, rows) in blocks.enumerate() {
        for (i, record) in w.records(rows).enumerate() {
            let tokens = Tokens::<M>::new(x, first, i * w.block(), w.block());
            for half in 0..2 {
                let codes = |quad: usize| {
                    let bytes = target.load_bytes(&record.nibbles[quad].as_chunks().0[half]);
                    [target.field(bytes, 0, 15), target.field(bytes, 4, 15)]
                };
                multiply_half(target, codes, &record, half, &tokens, n, &mut y[b * ROWS..]);
            }
        }
    }
}

/// The first `whole` tokens, four at a time, by records that are decoded once for all.
#[inline(always)]
fn panels<T: Target>(
    target: T,
    w: Weights<'_>,
    blocks: Range<usize>,
    x: Acts<'_>,
    whole: usize,
    n: usize,
    y: &mut [f32],
) {
    let mut panel: [[Quad; MAX_BLOCK / 4]; 2] = [[[[0; 32]; 2]; MAX_BLOCK / 4]; 2];
    for (b, rows) in blocks.enumerate() {
        for (i, record) in w.records(rows).enumerate() {
            for (quad, bytes) in record.nibbles.iter().enumerate() {
                for half in 0..2 {
                    let bytes = target.load_bytes(&bytes.as_chunks().0[half]);
                    target.store_bytes(target.field(bytes, 0, 15), &mut panel[half][quad][0]);
                    target.store_bytes(target.field(bytes, 4, 15), &mut panel[half][quad][1]);
                }
            }
            for first in (0..whole).step_by(TOKENS) {
                let tokens = Tokens::<TOKENS>::new(x, first, i * w.block(), w.block());
                for half in 0..2 {
                    let codes = |quad: usize| {
                        let [low, high] = &panel[half][quad];
                        [target.load_bytes(low), target.load_bytes(high)]
                    };
                    multiply_half(target, codes, &record, half, &tokens, n, &mut y[first * n + b * ROWS..]);
                }
            }
        }
    }
}

/// What `M` tokens have for one block of k.
struct Tokens<'a, const M: usize> {
    codes: [&'a [[i8; 4]]; M],
    scales: [f32; M],
    sums: [i16; M],
}

impl<'a, const M: usize> Tokens<'a, M> {
    #[inline(always)]
    fn new(x: Acts<'a>, first: usize, from: usize, block: usize) -> Self {
        let mut tokens = Self { codes: [&[]; M], scales: [0.0; M], sums: [0; M] };
        for t in 0..M {
            tokens.codes[t] = x.codes(first + t)[from..][..block].as_chunks().0;
            tokens.scales[t] = x.scale(first + t);
            // At most 128 codes of 127.
            tokens.sums[t] = x.sums(first + t)[from / SUM..][..block / SUM].iter().sum();
        }
        tokens
    }
}

/// Sixteen rows of a record by `M` tokens: one step of their chains, which go on in `y`.
#[inline(always)]
fn multiply_half<T: Target, const M: usize>(
    target: T,
    codes: impl Fn(usize) -> [T::Bytes; 2],
    record: &Record<'_>,
    half: usize,
    tokens: &Tokens<'_, M>,
    n: usize,
    y: &mut [f32],
) {
    let mut isums = [[target.splat_i32(0); 2]; M];
    for first in (0..record.nibbles.len()).step_by(QUADS) {
        let mut sums = [[target.nothing(); 2]; M];
        for quad in first..first + QUADS {
            let codes = codes(quad);
            for t in 0..M {
                let x = target.splat_bytes(tokens.codes[t][quad]);
                for j in 0..2 {
                    sums[t][j] = target.add_products(sums[t][j], codes[j], x);
                }
            }
        }
        for t in 0..M {
            for j in 0..2 {
                isums[t][j] = target.widen(isums[t][j], sums[t][j]);
            }
        }
    }
    for j in 0..2 {
        let rows = 2 * half + j;
        let scales = target.load(&record.scales.as_chunks().0[rows]);
        let zeros = zero_pairs(target, &record.zeros.as_chunks().0[rows]);
        for t in 0..M {
            let isum = target.dot_pairs(isums[t][j], zeros, [-tokens.sums[t], 0]);
            let scaled = target.mul(target.mul(target.to_f32(isum), target.splat(tokens.scales[t])), scales);
            let y = &mut y[t * n..].as_chunks_mut::<LANES>().0[rows];
            target.store(target.add(target.load(y), scaled), y);
        }
    }
}

/// Each zero point beside a 0.
#[inline(always)]
fn zero_pairs<T: Target>(target: T, zeros: &[i8; LANES]) -> T::Pairs {
    let mut pairs = [0; 2 * LANES];
    for lane in 0..LANES {
        pairs[2 * lane] = zeros[lane];
    }
    target.widen_pairs(pairs)
}
