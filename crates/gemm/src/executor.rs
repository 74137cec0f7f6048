//! Who runs the work: the caller's own thread, or a rayon pool.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::ExecutorError;

/// Runs pieces of work on some threads.
///
/// Implementations need no `unsafe` and can break no promise: workers pull pieces from a shared queue, so that a piece
/// is done once whoever calls how often.
pub trait Executor: Send + Sync {
    /// How many threads work, the caller's included.
    fn threads(&self) -> usize;

    /// Calls `work` at least once, on up to [`threads`](Self::threads) threads at the same time, and returns when all
    /// calls have returned. A panic in a worker goes on in the caller.
    fn run(&self, work: &(dyn Fn() + Sync));

    /// Runs `pass`, inside the pool where there is one, so that each [`run`](Self::run) in it costs little: a whole
    /// forward pass belongs in one `enter`.
    fn enter(&self, pass: &mut (dyn FnMut() + Send));
}

/// The caller's thread alone: no pool is ever touched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Executor for Serial {
    fn threads(&self) -> usize {
        1
    }

    fn run(&self, work: &(dyn Fn() + Sync)) {
        work();
    }

    fn enter(&self, pass: &mut (dyn FnMut() + Send)) {
        pass();
    }
}

/// More threads than any machine has cores; beyond, a slip of the finger would start threads until memory runs out.
pub const MOST_THREADS: usize = 1024;

/// A rayon pool of its own, so that the thread count is the caller's and nobody else's.
#[derive(Debug)]
pub struct Rayon {
    pool: ThreadPool,
}

impl Rayon {
    /// A pool of `threads` threads, up to [`MOST_THREADS`].
    ///
    /// # Errors
    /// [`ExecutorError`] where `threads` is 0 or too many, or the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, ExecutorError> {
        match threads {
            0 => return Err(ExecutorError::NoThreads),
            1..=MOST_THREADS => {}
            _ => return Err(ExecutorError::TooManyThreads { threads }),
        }
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

/// The thread count that `KEEPQ_THREADS` asks for, or as many as the machine offers where it is not set.
///
/// # Errors
/// [`ExecutorError::BadVariable`] where it is no number from 1 to [`MOST_THREADS`].
pub fn threads_from_env() -> Result<usize, ExecutorError> {
    let Some(value) = std::env::var_os("KEEPQ_THREADS") else {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    };
    let value = value.to_string_lossy();
    match value.trim().parse() {
        Ok(threads @ 1..=MOST_THREADS) => Ok(threads),
        _ => Err(ExecutorError::BadVariable { value: value.into_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn work_is_called_and_a_panic_comes_back() {
        for executor in [&Serial as &dyn Executor, &Rayon::new(1).unwrap(), &Rayon::new(3).unwrap()] {
            let calls = AtomicUsize::new(0);
            executor.run(&|| {
                calls.fetch_add(1, Ordering::Relaxed);
            });
            assert!((1..=executor.threads()).contains(&calls.into_inner()));

            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| executor.run(&|| panic!("piece"))));
            assert!(panic.is_err());
            let mut entered = false;
            executor.enter(&mut || executor.run(&|| ()));
            executor.enter(&mut || entered = true);
            assert!(entered, "usable after a panic");
        }
    }

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

    #[test]
    fn no_threads_and_too_many_are_errors() {
        assert_eq!(Rayon::new(0).unwrap_err().to_string(), "a pool of 0 threads can do nothing");
        assert_eq!(Rayon::new(100_000).unwrap_err().to_string(), "100000 threads are more than 1024");
    }
}
