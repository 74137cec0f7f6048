//! BF16 weights expanded to the other orientation, `w[k,n]`: the historical way, kept to be measured against.
//!
//! Same bits as the `[n,k]` orientation: eight partial sums an output, lane = k mod 8.

use core::ops::Range;

use keepq_blocks::Bf16;

use crate::float::reduce;
use crate::{LANES, Target};

/// Output columns that are computed together: one cache line of bf16, so that each line is read once.
pub const COLUMNS: usize = 32;

/// Rows of k whose weights are widened together: 8 KiB, a quarter of L1.
const DEPTH: usize = 64;

/// BF16 weights `w[k,n]`: `k` rows of `n` elements, the transposed of what files hold.
#[derive(Clone, Copy, Debug)]
pub struct KnMatrix<'a> {
    elements: &'a [Bf16],
    n: usize,
    k: usize,
}

impl<'a> KnMatrix<'a> {
    /// The view, or `None` where `elements` are not exactly `k * n`.
    #[must_use]
    pub fn new(n: usize, k: usize, elements: &'a [Bf16]) -> Option<Self> {
        (k.checked_mul(n)? == elements.len()).then_some(Self { elements, n, k })
    }

    /// Output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }
}

/// Floats of scratch that [`strip`] uses for a token: eight partial sums a column.
pub const SCRATCH: usize = 8 * COLUMNS;

/// `y[t * columns + c]` for the columns `first .. first + columns` (at most [`COLUMNS`]) and the tokens of `x`.
///
/// Weights are read once, 64 rows of k at a time: 16 bytes of each of k rows, `n` elements apart, would touch a page
/// and a line each, and come back for the rest of the line when it is gone.
///
/// # Panics
/// Where the columns are not there or too many, `x` is not `m` rows of `k` and `y` not `m` rows of `columns`, or
/// `scratch` is not [`SCRATCH`] floats a token.
pub fn strip<T: Target>(
    target: T,
    x: &[f32],
    w: KnMatrix<'_>,
    columns: Range<usize>,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    assert!(columns.len() <= COLUMNS && columns.end <= w.n, "columns {columns:?} of {}", w.n);
    if y.is_empty() {
        return;
    }
    let m = y.len() / columns.len();
    assert!(y.len() == m * columns.len() && x.len() == m * w.k, "m = {m}: x of {}, y of {}", x.len(), y.len());
    let partial = scratch[..m * SCRATCH].as_chunks_mut::<SCRATCH>().0;
    target.run(
        #[inline(always)]
        || {
            partial.as_flattened_mut().fill(0.0);
            let mut block = [[0.0; COLUMNS]; DEPTH];
            for start in (0..w.k).step_by(DEPTH) {
                let depth = DEPTH.min(w.k - start);
                for (floats, row) in block.iter_mut().zip(w.elements[start * w.n..].chunks_exact(w.n)).take(depth) {
                    widen(&row[columns.clone()], floats);
                }
                for (t, partial) in partial.iter_mut().enumerate() {
                    carry(target, &x[t * w.k + start..][..depth], &block, partial);
                }
            }
            for (partial, y) in partial.iter().zip(y.chunks_exact_mut(columns.len())) {
                for (c, y) in y.iter_mut().enumerate() {
                    *y = reduce(core::array::from_fn(|lane| partial[c / LANES * 64 + lane * LANES + c % LANES]));
                }
            }
        },
    );
}

/// Carries the partial sums of one token on by some rows of k.
///
/// `partial` holds eight columns after eight columns, and of these one k mod 8 after the other.
#[inline(always)]
fn carry<T: Target>(target: T, x: &[f32], block: &[[f32; COLUMNS]; DEPTH], partial: &mut [f32; SCRATCH]) {
    for (group, partial) in partial.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let lanes = partial.as_chunks_mut::<LANES>().0;
        let columns = group * LANES..(group + 1) * LANES;
        let column = |row: &[f32; COLUMNS]| match row[columns.clone()].first_chunk() {
            Some(eight) => target.load(eight),
            None => target.splat(0.0),
        };
        let mut sums = [target.splat(0.0); 8];
        for k in 0..8 {
            sums[k] = target.load(&lanes[k]);
        }
        let (whole, rest) = x.as_chunks::<8>();
        for (x, rows) in whole.iter().zip(block.as_chunks::<8>().0) {
            for k in 0..8 {
                sums[k] = target.fma(column(&rows[k]), target.splat(x[k]), sums[k]);
            }
        }
        for (k, (x, row)) in rest.iter().zip(&block[whole.len() * 8..]).enumerate() {
            sums[k] = target.fma(column(row), target.splat(*x), sums[k]);
        }
        for k in 0..8 {
            target.store(sums[k], &mut lanes[k]);
        }
    }
}

/// Some columns of a row as floats. A full row is a loop of constant length, which compilers unroll and vectorize.
#[inline(always)]
fn widen(row: &[Bf16], floats: &mut [f32; COLUMNS]) {
    match row.first_chunk::<COLUMNS>() {
        Some(row) => (0..COLUMNS).for_each(|i| floats[i] = row[i].to_f32()),
        None => row.iter().zip(floats).for_each(|(element, float)| *float = element.to_f32()),
    }
}
