//! W4A8: records of 4-bit codes by int8 activations.
//!
//! Four codes of a row lie side by side, and eight rows fill a register: products of bytes, a lane a row. Codes stay unsigned; zero points
//! come in by the sums of activations.
//!
//! Records are decoded again for each few tokens, which costs less than decoding them once into a panel (measured): then all tokens' activations
//! would go by for each record, a line or two of each.

use std::ops::Range;

use keepq_dot::{LANES, Target, eight};
use keepq_tinygemm::w4a8::{ROWS, Record, Weights};
use keepq_tinygemm::{Acts, SUM};

/// Tokens at once: with two registers of rows, eight sums of 16 bits.
const TOKENS: usize = 4;

/// Quads of a row whose products are added up in 16 bits: 8 · 2 · 15 · 127 = 30,480 is within 2^15 - 1.
const QUADS: usize = SUM / 4;

const _: () = assert!(QUADS == 8, "as many as are written out");

/// That shapes fit each other, as [`Tier::w4a8_strip`](crate::Tier::w4a8_strip) says.
pub(crate) fn check(w: Weights<'_>, rows: &Range<usize>, x: Acts<'_>, y: &[f32]) {
    let n = rows.len();
    assert!(x.k() == w.k() && y.len() == x.m() * n, "x[{},{}] and y of {} for {n} rows", x.m(), x.k(), y.len());
    assert!(
        rows.start.is_multiple_of(ROWS) && n.is_multiple_of(ROWS) && rows.end <= w.n(),
        "rows {rows:?} of {}",
        w.n()
    );
}

/// See [`Tier::w4a8_strip`](crate::Tier::w4a8_strip).
pub(crate) fn strip<T: Target>(target: T, w: Weights<'_>, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
    let n = rows.len();
    y.fill(0.0);
    if n == 0 {
        return;
    }
    let blocks = rows.start / ROWS..rows.end / ROWS;
    for first in (0..x.m()).step_by(TOKENS) {
        let y = &mut y[first * n..];
        match x.m() - first {
            1 => target.run(
                #[inline(always)]
                || multiply::<T, 1>(target, w, blocks.clone(), Tokens::new(x, first), n, y),
            ),
            2 => target.run(
                #[inline(always)]
                || multiply::<T, 2>(target, w, blocks.clone(), Tokens::new(x, first), n, y),
            ),
            3 => target.run(
                #[inline(always)]
                || multiply::<T, 3>(target, w, blocks.clone(), Tokens::new(x, first), n, y),
            ),
            _ => target.run(
                #[inline(always)]
                || multiply::<T, TOKENS>(target, w, blocks.clone(), Tokens::new(x, first), n, y),
            ),
        }
    }
}

/// A few tokens by the records of some blocks of rows.
#[inline(always)]
fn multiply<T: Target, const M: usize>(
    target: T,
    w: Weights<'_>,
    blocks: Range<usize>,
    tokens: Tokens<'_, M>,
    n: usize,
    y: &mut [f32],
) {
    let steps = w.block() / SUM;
    for (b, rows) in blocks.enumerate() {
        let y = &mut y[b * ROWS..];
        for (i, record) in w.records(rows).enumerate() {
            let tokens = tokens.steps(i * steps, steps);
            let nibbles = record.nibbles.as_chunks::<QUADS>().0;
            let codes = |step: usize, quad: usize, half: usize| {
                let bytes = target.load_bytes(&nibbles[step][quad].as_chunks().0[half]);
                [target.field(bytes, 0, 15), target.field(bytes, 4, 15)]
            };
            if M <= 2 {
                // All rows share what is read of the tokens.
                let all = |step, quad| {
                    let [[a, b], [c, d]] = [codes(step, quad, 0), codes(step, quad, 1)];
                    [a, b, c, d]
                };
                multiply_rows::<T, 4, M>(target, all, &record, 0, &tokens, n, y);
            } else {
                for half in 0..2 {
                    let of_half = |step, quad| codes(step, quad, half);
                    multiply_rows::<T, 2, M>(target, of_half, &record, 2 * half, &tokens, n, y);
                }
            }
        }
    }
}

/// `M` tokens, or some of each one's codes: [`SUM`] of them a step.
#[derive(Clone, Copy)]
struct Tokens<'a, const M: usize> {
    steps: [&'a [[[i8; 4]; QUADS]]; M],
    sums: [&'a [i16]; M],
    scales: [f32; M],
}

impl<'a, const M: usize> Tokens<'a, M> {
    #[inline(always)]
    fn new(x: Acts<'a>, first: usize) -> Self {
        let mut tokens = Self { steps: [&[]; M], sums: [&[]; M], scales: [0.0; M] };
        for t in 0..M {
            tokens.steps[t] = x.codes(first + t).as_chunks().0.as_chunks().0;
            tokens.sums[t] = x.sums(first + t);
            tokens.scales[t] = x.scale(first + t);
        }
        tokens
    }

    #[inline(always)]
    fn steps(mut self, first: usize, count: usize) -> Self {
        for t in 0..M {
            self.steps[t] = &self.steps[t][first..][..count];
            self.sums[t] = &self.sums[t][first..][..count];
        }
        self
    }
}

/// `R` registers of a record's rows, the first of which is `from`, by `M` tokens: one step of their chains, which go on in `y`.
#[inline(always)]
fn multiply_rows<T: Target, const R: usize, const M: usize>(
    target: T,
    codes: impl Fn(usize, usize) -> [T::Bytes; R],
    record: &Record<'_>,
    from: usize,
    tokens: &Tokens<'_, M>,
    n: usize,
    y: &mut [f32],
) {
    let mut isums = [[target.splat_i32(0); R]; M];
    for step in 0..tokens.steps[0].len() {
        let mut sums = [[target.nothing(); R]; M];
        eight(
            #[inline(always)]
            |quad| {
                let codes = codes(step, quad);
                for t in 0..M {
                    let x = target.splat_bytes(tokens.steps[t][step][quad]);
                    for r in 0..R {
                        sums[t][r] = target.settled(target.add_products(sums[t][r], codes[r], x));
                    }
                }
            },
        );
        for t in 0..M {
            for r in 0..R {
                isums[t][r] = target.settled_i32(target.widen(isums[t][r], sums[t][r]));
            }
        }
    }
    let mut zeros = [zero_pairs(target, &[0; LANES]); R];
    for r in 0..R {
        zeros[r] = zero_pairs(target, &record.zeros.as_chunks().0[from + r]);
    }
    for t in 0..M {
        // At most 128 codes of 127.
        let sum: i16 = tokens.sums[t].iter().sum();
        let x_scale = target.splat(tokens.scales[t]);
        let y = &mut y[t * n..].as_chunks_mut::<LANES>().0[from..][..R];
        for r in 0..R {
            let scales = target.load(&record.scales.as_chunks().0[from + r]);
            let isum = target.dot_pairs(isums[t][r], zeros[r], [-sum, 0]);
            let scaled = target.mul(target.mul(target.to_f32(isum), x_scale), scales);
            target.store(target.add(target.load(&y[r]), scaled), &mut y[r]);
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
