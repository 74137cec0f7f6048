//! [`Rayon`]: a pool of rayon's.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Executor, check_threads};
use crate::ExecutorError;

/// A rayon pool of its own, so that the thread count is the caller's and nobody else's.
#[derive(Debug)]
pub struct Rayon {
    pool: ThreadPool,
}

impl Rayon {
    /// A pool of `threads` threads, up to [`MOST_THREADS`](crate::MOST_THREADS).
    ///
    /// # Errors
    /// [`ExecutorError`] where `threads` is 0 or too many, or the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, ExecutorError> {
        check_threads(threads)?;
        match ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("keepq-{i}")).build() {
            Ok(pool) => Ok(Self { pool }),
            Err(reason) => Err(ExecutorError::CannotStart { threads, reason: reason.to_string() }),
        }
    }
}

impl Executor for Rayon {
    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    fn run(&self, work: &(dyn Fn() + Sync)) {
        self.pool.install(|| fan_out(work, self.threads()));
    }

    fn enter(&self, pass: &mut (dyn FnMut() + Send)) {
        self.pool.install(pass);
    }
}

/// Offers `work` to `threads` threads. One that is not awake in time finds the queue empty and nothing waits for it.
fn fan_out(work: &(dyn Fn() + Sync), threads: usize) {
    if threads <= 1 {
        work();
    } else {
        rayon::join(|| fan_out(work, threads / 2), || fan_out(work, threads - threads / 2));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_pool_offers_work_to_each_of_its_threads() {
        for threads in 1..=9 {
            let calls = AtomicUsize::new(0);
            let call = || {
                calls.fetch_add(1, Ordering::Relaxed);
            };
            Rayon::new(threads).unwrap().run(&call);
            assert_eq!(calls.into_inner(), threads);
        }
    }
}
