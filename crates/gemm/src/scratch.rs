//! [`Scratch`]: what the threads of a driver work in.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use keepq_dot::Product;

/// Owned, reusable memory for [`Driver`](crate::Driver): the caller keeps one and passes it to every call.
///
/// It grows to the largest product it has seen; after that a call allocates nothing. Two calls at a time need two.
#[derive(Debug, Default)]
pub struct Scratch {
    workers: Vec<Mutex<Worker>>,
}

/// One thread's share.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// Decoded weights, for kernels.
    pub kernel: keepq_dot::Scratch,
    /// The results of a strip, before they go to their columns of `y`; scores in attention.
    pub tile: Vec<f32>,
}

impl Scratch {
    /// An empty scratch.
    #[must_use]
    pub const fn new() -> Self {
        Self { workers: Vec::new() }
    }

    /// Grows to `threads` workers, each with a tile of `tile` floats and what the kernels use for `product`.
    pub(crate) fn fit(&mut self, threads: usize, tile: usize, product: Option<&Product<'_>>) {
        if self.workers.len() < threads {
            self.workers.resize_with(threads, Mutex::default);
        }
        for worker in &mut self.workers[..threads] {
            let worker = worker.get_mut().unwrap_or_else(PoisonError::into_inner);
            if worker.tile.len() < tile {
                worker.tile.resize(tile, 0.0);
            }
            if let Some(product) = product {
                worker.kernel.fit(product);
            }
        }
    }

    /// A worker that no other thread uses. Where an executor calls more often than it has threads, a call may find
    /// none free; it does nothing then, and those that have one do its work.
    pub(crate) fn claim(&self) -> Option<MutexGuard<'_, Worker>> {
        self.workers.iter().find_map(|worker| match worker.try_lock() {
            Ok(worker) => Some(worker),
            // A panic left numbers behind, which the next strip overwrites.
            Err(TryLockError::Poisoned(worker)) => Some(worker.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let worker = |worker: &Mutex<Worker>| {
            let worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            worker.kernel.bytes() + size_of_val(&worker.tile[..])
        };
        self.workers.iter().map(worker).sum()
    }
}
