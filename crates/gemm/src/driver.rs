//! [`Driver`]: cuts a multiplication into strips and hands them to threads.

use std::iter;
use std::sync::{Mutex, PoisonError};

use keepq_act::{ActRows, Encoding};
use keepq_blocks::Matrix;
use keepq_dot::kn::KnMatrix;
use keepq_simd::Tier;

use crate::operands::{Job, Operands, Weights};
use crate::pieces::{Output, Part, Piece, bytes_left, take_front};
use crate::scratch::{Worker, Workers};
use crate::{ColumnsMut, Executor, MatmulError, Scratch};

/// A piece is one part in so many of a thread's share of the weights that are left. Pieces become smaller to the end, so that
/// threads end together, also where one starts late or is interrupted.
const PIECES: usize = 2;

/// Bytes of weights, times tokens, that are not cut further before a thread's share is: memory is read fast in long pieces.
const STREAM: usize = 1 << 18;

/// Multiply-adds below which entering a pool costs more than it saves.
const WORTH_SHARING: usize = 1 << 16;

/// Elements to be quantized that are worth sharing, and that a thread gets at a time.
const ELEMENTS: usize = 1 << 13;

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
        self.multiply(Weights::Nk(w).by(x)?, y, scratch)
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
        self.multiply(Weights::Kn(w).by(x)?, y, scratch)
    }

    /// [`Tier::encode`] on all threads, where there is enough for them.
    pub fn encode(&self, encoding: Encoding<'_>) {
        if encoding.elements() <= ELEMENTS || self.executor.threads() == 1 {
            return self.tier.encode(encoding);
        }
        let queue = Mutex::new(encoding);
        self.executor.run(&|| {
            while let Some(piece) = next(&queue, |queue| queue.take_front(ELEMENTS)) {
                self.tier.encode(piece);
            }
        });
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
        let threads = if out.len() > width { self.executor.threads() } else { 1 };
        scratch.workers.fit(threads, |worker| worker.fit_tile(memory));
        let rows = out.chunks_mut(width).enumerate();
        if threads == 1 {
            if let Some(mut worker) = scratch.workers.claim() {
                rows.for_each(|(i, row)| work(i, row, &mut worker.tile[..memory]));
            }
            return;
        }
        let queue = Mutex::new(rows);
        self.share(&scratch.workers, |worker| {
            while let Some((i, row)) = next(&queue, Iterator::next) {
                work(i, row, &mut worker.tile[..memory]);
            }
        });
    }

    /// Calls `work(first_row, columns, memory)` for each tile of at most `rows` rows and `columns` columns of `out[m,n]`, on all
    /// threads, the last rows first. `memory` is scratch of `memory` floats, with any contents.
    pub fn for_each_tile(
        &self,
        out: &mut [f32],
        n: usize,
        (rows, columns): (usize, usize),
        memory: usize,
        scratch: &mut Scratch,
        work: impl Fn(usize, ColumnsMut<'_>, &mut [f32]) + Sync,
    ) {
        if n == 0 || rows == 0 {
            return;
        }
        scratch.workers.fit(self.executor.threads(), |worker| worker.fit_tile(memory));
        let tiles = out.chunks_mut(rows.saturating_mul(n)).enumerate().rev().flat_map(|(i, chunk)| {
            let mut rest = ColumnsMut::new(chunk, chunk.len() / n, n);
            iter::from_fn(move || Some((i * rows, rest.take_front(columns)?)))
        });
        let queue = Mutex::new(tiles);
        self.share(&scratch.workers, |worker| {
            while let Some((row, tile)) = next(&queue, Iterator::next) {
                work(row, tile, &mut worker.tile[..memory]);
            }
        });
    }

    /// All tokens of a pair by all of its weights.
    pub(crate) fn multiply(
        &self,
        operands: Operands<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let output = Output { shape: (operands.m(), operands.n(), operands.k()), tier: self.tier, y };
        self.run([output], |_| iter::once(Job::all(operands)), &mut scratch.workers)
    }

    /// Computes some outputs. `jobs(i)` are those of output `i`, each of which computes all columns of some of its rows: hands
    /// pieces of columns to the threads, all outputs in one run.
    pub(crate) fn run<'j, const N: usize, J: Iterator<Item = Job<'j>>>(
        &self,
        outputs: [Output<'_>; N],
        jobs: impl Fn(usize) -> J + Sync,
        workers: &mut Workers,
    ) -> Result<(), MatmulError> {
        let mut multiply_adds = 0_usize;
        for output in &outputs {
            output.check()?;
            multiply_adds = multiply_adds.saturating_add(output.multiply_adds());
        }
        let threads = if multiply_adds >= WORTH_SHARING { self.executor.threads() } else { 1 };
        let mut i = 0;
        let mut parts = outputs.map(|output| {
            let mut part = Part::new(output);
            for job in jobs(i) {
                workers.fit(threads, |worker| job.fit(part.tier, worker));
                part.add(&job);
            }
            i += 1;
            part
        });
        let piece = |pieces: [Option<Piece<'_>>; N], worker: &mut Worker| {
            for (i, piece) in pieces.into_iter().enumerate() {
                if let Some(mut piece) = piece {
                    jobs(i).for_each(|job| job.run(piece.tier, &mut piece.columns, worker));
                }
            }
        };
        if threads == 1 {
            if let (Some(all), Some(mut worker)) = (take_front(&mut parts, usize::MAX), workers.claim()) {
                piece(all, &mut worker);
            }
            return Ok(());
        }
        let bytes = |left: usize| {
            let share = left.div_ceil(threads);
            share.div_ceil(PIECES).max(STREAM).min(share)
        };
        let queue = Mutex::new(parts);
        self.share(workers, |worker| {
            while let Some(pieces) = next(&queue, |parts| take_front(parts, bytes(bytes_left(parts)))) {
                piece(pieces, worker);
            }
        });
        Ok(())
    }

    /// Runs `work` on the threads, each with a worker's scratch of its own.
    fn share(&self, workers: &Workers, work: impl Fn(&mut Worker) + Sync) {
        self.executor.run(&|| {
            if let Some(mut worker) = workers.claim() {
                work(&mut worker);
            }
        });
    }
}

/// The next piece of a shared queue. The lock is held for the taking only; a panic elsewhere leaves it whole.
fn next<Q, P>(queue: &Mutex<Q>, take: impl FnOnce(&mut Q) -> Option<P>) -> Option<P> {
    take(&mut queue.lock().unwrap_or_else(PoisonError::into_inner))
}
