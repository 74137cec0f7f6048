//! BF16 weights expanded to the other orientation, `w[k,n]`: the historical way, kept to be measured against.
//!
//! Same bits as the `[n,k]` orientation: eight partial sums an output, lane = k mod 8.

use keepq_blocks::Bf16;

use crate::Fused;
use crate::float::reduce;

/// Output columns that are computed together: one cache line of bf16, so that each line is read once.
pub const COLUMNS: usize = 32;

/// Rows of k that are walked before the next eight columns: 64 lines stay in L1.
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

/// `y[t * columns + c]` for the columns `first .. first + columns` (at most [`COLUMNS`]) and the tokens of `x`.
///
/// # Panics
/// Where the columns are not there or too many, or `x` is not `m` rows of `k` and `y` not `m` rows of `columns`.
#[inline(always)]
pub fn strip<F: Fused>(x: &[f32], w: KnMatrix<'_>, first: usize, columns: usize, y: &mut [f32]) {
    assert!(columns <= COLUMNS && first + columns <= w.n, "columns {first} + {columns} of {}", w.n);
    if y.is_empty() {
        return;
    }
    let m = y.len() / columns;
    assert!(y.len() == m * columns && x.len() == m * w.k, "m = {m}: x of {}, y of {}", x.len(), y.len());
    if w.k == 0 {
        y.fill(0.0);
        return;
    }
    for (x, y) in x.chunks_exact(w.k).zip(y.chunks_exact_mut(columns)) {
        let mut partial = [[[0.0_f32; 8]; 8]; COLUMNS / 8]; // [eight columns][lane][column]
        let rows = w.elements.chunks_exact(w.n).map(|row| &row[first..first + columns]);
        for start in (0..w.k).step_by(DEPTH) {
            let depth = DEPTH.min(w.k - start);
            for (group, partial) in partial.iter_mut().enumerate().take(columns.div_ceil(8)) {
                let rows = rows.clone().skip(start).take(depth);
                let width = 8.min(columns - group * 8);
                for ((i, &x), row) in x[start..start + depth].iter().enumerate().zip(rows) {
                    let mut w = [0.0; 8];
                    for (w, element) in w.iter_mut().zip(&row[group * 8..][..width]) {
                        *w = element.to_f32();
                    }
                    let sum = &mut partial[i % 8]; // DEPTH is a multiple of 8
                    for column in 0..8 {
                        sum[column] = F::fma(w[column], x, sum[column]);
                    }
                }
            }
        }
        for (c, y) in y.iter_mut().enumerate() {
            *y = reduce(core::array::from_fn(|lane| partial[c / 8][lane][c % 8]));
        }
    }
}
