//! [`Driver`]: cuts a multiplication into strips and hands them to threads.

use std::sync::{Mutex, PoisonError};

use keepq_act::{ActRows, Acts};
use keepq_blocks::Matrix;
use keepq_dot::kn::{self, KnMatrix};
use keepq_dot::{Product, ProductError};
use keepq_simd::Tier;

use crate::scratch::Worker;
use crate::{ColumnsMut, Executor, MatmulError, Scratch};

/// Tokens that a strip runs against at a time: their results stay in L1, and decoding the strip's weights again for
/// the next ones costs one part in so many.
const TOKENS: usize = 256;

/// Pieces a thread gets on average: enough that one that starts late, or is interrupted, leaves work for the others.
const PIECES: usize = 4;

/// Multiply-adds below which entering a pool costs more than it saves.
const WORTH_SHARING: usize = 1 << 16;

/// A tier and an executor: what runs, and who runs it. Copy it freely.
#[derive(Clone, Copy)]
pub struct Driver<'e> {
    tier: Tier,
    executor: &'e dyn Executor,
}

impl std::fmt::Debug for Driver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("tier", &self.tier).field("threads", &self.executor.threads()).finish()
    }
}

impl<'e> Driver<'e> {
    /// A driver that runs `tier`'s kernels on `executor`'s threads.
    #[must_use]
    pub const fn new(tier: Tier, executor: &'e dyn Executor) -> Self {
        Self { tier, executor }
    }

    /// The tier whose kernels run.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// The executor.
    #[must_use]
    pub const fn executor(&self) -> &'e dyn Executor {
        self.executor
    }

    /// `y[m,n] = x[m,k] · w[n,k]ᵀ`, the weights where they lie.
    ///
    /// # Errors
    /// [`MatmulError`] where `x` and `w` do not fit each other or `y` is not `m * n` elements; `y` is untouched then.
    pub fn matmul(
        &self,
        x: ActRows<'_>,
        w: Matrix<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let product = Product::new(x, w)?;
        let tile = TOKENS.min(x.m()) * self.tier.strip_rows();
        let shape = Shape { m: x.m(), n: w.n(), k: w.k(), strip: self.tier.strip_rows() };
        self.columns(shape, y, scratch, tile, Some(&product), |columns, worker| {
            self.strips(product.rows(columns.columns()), columns, worker);
        })
    }

    /// `y[m,n] = x[m,k] · w[k,n]` for weights that were expanded to the other orientation.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    pub fn matmul_kn(
        &self,
        x: ActRows<'_>,
        w: KnMatrix<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let Acts::F32(elements) = x.typed() else {
            let ty = keepq_blocks::GgmlType::BF16;
            let wanted = keepq_act::ActFormat::F32;
            return Err(ProductError::WrongFormat { ty, wanted, found: x.format() }.into());
        };
        if x.k() != w.k() {
            return Err(ProductError::WrongK { weights: w.k(), activations: x.k() }.into());
        }
        let tile = TOKENS.min(x.m()) * (kn::COLUMNS + kn::SCRATCH);
        let shape = Shape { m: x.m(), n: w.n(), k: w.k(), strip: kn::COLUMNS };
        self.columns(shape, y, scratch, tile, None, |mut columns, worker| {
            let (all, m, k) = (columns.columns(), columns.m(), w.k());
            for first in all.clone().step_by(kn::COLUMNS) {
                let width = kn::COLUMNS.min(all.end - first);
                for start in (0..m).step_by(TOKENS) {
                    let tokens = TOKENS.min(m - start);
                    let (tile, partial) = worker.tile.split_at_mut(tokens * width);
                    let x = &elements[start * k..(start + tokens) * k];
                    self.tier.kn_strip(x, w, first..first + width, tile, partial);
                    scatter(tile, width, &mut columns, start, first - all.start);
                }
            }
        })
    }

    /// Calls `work(i, row, memory)` for each of the rows of `width` elements of `out`, on all threads. `memory` is
    /// scratch of `memory` floats, with any contents.
    pub fn for_each_row(
        &self,
        out: &mut [f32],
        width: usize,
        memory: usize,
        scratch: &mut Scratch,
        work: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
    ) {
        if width == 0 {
            return;
        }
        scratch.fit(self.executor.threads(), memory, None);
        let queue = Mutex::new(out.chunks_mut(width).enumerate());
        self.share(scratch, |worker| {
            while let Some((i, row)) = next(&queue, Iterator::next) {
                work(i, row, &mut worker.tile[..memory]);
            }
        });
    }

    /// Checks `y`, fits `scratch`, and hands pieces of columns to the threads.
    fn columns(
        &self,
        shape: Shape,
        y: &mut [f32],
        scratch: &mut Scratch,
        tile: usize,
        product: Option<&Product<'_>>,
        piece: impl Fn(ColumnsMut<'_>, &mut Worker) + Sync,
    ) -> Result<(), MatmulError> {
        let Shape { m, n, k, strip } = shape;
        if m.checked_mul(n) != Some(y.len()) {
            return Err(MatmulError::WrongOutput { m, n, found: y.len() });
        }
        let threads = if m * n * k < WORTH_SHARING { 1 } else { self.executor.threads() };
        scratch.fit(threads, tile, product);
        let mut columns = ColumnsMut::new(y, m, n);
        if threads == 1 {
            if let (Some(all), Some(mut worker)) = (columns.take_front(n), scratch.claim()) {
                piece(all, &mut worker);
            }
            return Ok(());
        }
        // All rows have the same bytes, so that equal numbers of rows are equal shares of the weights.
        let width = n.div_ceil(threads * PIECES).next_multiple_of(strip);
        let queue = Mutex::new(columns);
        self.share(scratch, |worker| {
            while let Some(columns) = next(&queue, |queue| queue.take_front(width)) {
                piece(columns, worker);
            }
        });
        Ok(())
    }

    /// Runs `work` on the threads, each with a worker's scratch of its own.
    fn share(&self, scratch: &Scratch, work: impl Fn(&mut Worker) + Sync) {
        self.executor.run(&|| {
            if let Some(mut worker) = scratch.claim() {
                work(&mut worker);
            }
        });
    }

    /// All tokens by the weights of `columns`, strip after strip.
    fn strips(&self, product: Product<'_>, mut columns: ColumnsMut<'_>, worker: &mut Worker) {
        let (m, n) = (columns.m(), product.w().n());
        for first in (0..n).step_by(self.tier.strip_rows()) {
            let rows = first..n.min(first + self.tier.strip_rows());
            let strip = product.rows(rows.clone());
            if m == 1 {
                // The strip's outputs are contiguous in `y`.
                self.tier.strip(strip, &mut columns.row_mut(0)[rows], &mut worker.kernel);
                continue;
            }
            for start in (0..m).step_by(TOKENS) {
                let tokens = start..m.min(start + TOKENS);
                let tile = &mut worker.tile[..tokens.len() * rows.len()];
                self.tier.strip(strip.tokens(tokens), tile, &mut worker.kernel);
                scatter(tile, rows.len(), &mut columns, start, first);
            }
        }
    }
}

/// What is multiplied, and how many columns a strip has.
struct Shape {
    m: usize,
    n: usize,
    k: usize,
    strip: usize,
}

/// Copies the results of a strip, `width` a token, to their places.
fn scatter(tile: &[f32], width: usize, columns: &mut ColumnsMut<'_>, token: usize, column: usize) {
    for (t, results) in tile.chunks_exact(width).enumerate() {
        columns.row_mut(token + t)[column..column + width].copy_from_slice(results);
    }
}

/// The next piece of a shared queue. The lock is held for the taking only; a panic elsewhere leaves it whole.
fn next<Q, P>(queue: &Mutex<Q>, take: impl FnOnce(&mut Q) -> Option<P>) -> Option<P> {
    take(&mut queue.lock().unwrap_or_else(PoisonError::into_inner))
}
