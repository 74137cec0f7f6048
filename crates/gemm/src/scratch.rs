//! [`Scratch`]: what a driver and its threads work in.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::routing::Routing;

/// Owned, reusable memory for [`Driver`](crate::Driver): the caller keeps one and passes it to every call.
///
/// It grows to the largest product it has seen; after that a call allocates nothing. Of an indexed product it is the number
/// of routes that counts, not where they lead; where slices need several formats of activations, the number for each. Two
/// calls at a time need two.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) workers: Workers,
    pub(crate) routing: Routing,
    #[cfg(feature = "tinygemm")]
    pub(crate) floats: crate::tinygemm::Floats,
    /// Activations in the order of the weights' channels.
    #[cfg(feature = "tinygemm")]
    pub(crate) ordered: Vec<f32>,
    /// Int8 activations.
    #[cfg(feature = "tinygemm")]
    pub(crate) tokens: keepq_tinygemm::ActBuf,
}

impl Scratch {
    /// An empty scratch.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            workers: Workers(Vec::new()),
            routing: Routing::new(),
            #[cfg(feature = "tinygemm")]
            floats: crate::tinygemm::Floats::new(),
            #[cfg(feature = "tinygemm")]
            ordered: Vec::new(),
            #[cfg(feature = "tinygemm")]
            tokens: keepq_tinygemm::ActBuf::new(),
        }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = self.workers.bytes() + self.routing.bytes();
        #[cfg(feature = "tinygemm")]
        let bytes = bytes + self.floats.bytes() + size_of_val(&self.ordered[..]) + self.tokens.bytes();
        bytes
    }
}

/// The threads' shares.
#[derive(Debug, Default)]
pub(crate) struct Workers(Vec<Mutex<Worker>>);

/// One thread's share.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// Decoded weights, for kernels.
    pub kernel: keepq_dot::Scratch,
    /// The results of a strip, before they go to their columns of `y`; scores in attention.
    pub tile: Vec<f32>,
    /// Partial sums, for kernels of the other orientation.
    pub partial: Vec<f32>,
}

impl Worker {
    pub(crate) fn fit_tile(&mut self, len: usize) {
        grow(&mut self.tile, len);
    }

    pub(crate) fn fit_partial(&mut self, len: usize) {
        grow(&mut self.partial, len);
    }
}

pub(crate) fn grow(memory: &mut Vec<f32>, len: usize) {
    if memory.len() < len {
        memory.resize(len, 0.0);
    }
}

impl Workers {
    /// Grows to `threads` workers, and each of them as `grow` does.
    pub(crate) fn fit(&mut self, threads: usize, mut grow: impl FnMut(&mut Worker)) {
        if self.0.len() < threads {
            self.0.resize_with(threads, Mutex::default);
        }
        for worker in &mut self.0[..threads] {
            grow(worker.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// A worker that no other thread uses. Where an executor calls more often than it has threads, a call may find
    /// none free; it does nothing then, and those that have one do its work.
    pub(crate) fn claim(&self) -> Option<MutexGuard<'_, Worker>> {
        self.0.iter().find_map(|worker| match worker.try_lock() {
            Ok(worker) => Some(worker),
            // A panic left numbers behind, which the next strip overwrites.
            Err(TryLockError::Poisoned(worker)) => Some(worker.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }

    fn bytes(&self) -> usize {
        let worker = |worker: &Mutex<Worker>| {
            let worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            worker.kernel.bytes() + size_of_val(&worker.tile[..]) + size_of_val(&worker.partial[..])
        };
        self.0.iter().map(worker).sum()
    }
}
