//! Who runs the work: the caller's own thread, a small team that stays awake, or a rayon pool.

mod rayon;
mod team;

pub use rayon::Rayon;
pub use team::Team;

use crate::ExecutorError;

/// Runs pieces of work on some threads.
///
/// Implementations can break no promise of this crate: workers pull pieces from a shared queue, so that a piece
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

/// That a pool may have so many threads.
fn check_threads(threads: usize) -> Result<(), ExecutorError> {
    match threads {
        0 => Err(ExecutorError::NoThreads),
        1..=MOST_THREADS => Ok(()),
        _ => Err(ExecutorError::TooManyThreads { threads }),
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

/// The executor that `KEEPQ_EXECUTOR` names, `serial`, `rayon` or `team`, with `threads` threads (`serial` has one, whatever
/// is asked for); where it is not set, [`default_executor`].
///
/// # Errors
/// [`ExecutorError`] where it is none of these, or the threads cannot be had.
pub fn executor_from_env(threads: usize) -> Result<Box<dyn Executor>, ExecutorError> {
    let Some(name) = std::env::var_os("KEEPQ_EXECUTOR") else { return default_executor(threads) };
    match &*name.to_string_lossy() {
        "serial" => Ok(Box::new(Serial)),
        "rayon" => Ok(Box::new(Rayon::new(threads)?)),
        "team" => Ok(Box::new(Team::new(threads)?)),
        name => Err(ExecutorError::NoSuchExecutor { name: name.into() }),
    }
}

/// The executor for `threads` threads where nothing is said of it: [`Serial`] for one, else a [`Team`].
///
/// # Errors
/// [`ExecutorError`] where the threads cannot be had.
pub fn default_executor(threads: usize) -> Result<Box<dyn Executor>, ExecutorError> {
    match threads {
        1 => Ok(Box::new(Serial)),
        _ => Ok(Box::new(Team::new(threads)?)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn work_is_called_and_a_panic_comes_back() {
        let pools: [&dyn Executor; 4] =
            [&Rayon::new(1).unwrap(), &Rayon::new(3).unwrap(), &Team::new(1).unwrap(), &Team::new(3).unwrap()];
        for executor in [&Serial as &dyn Executor].into_iter().chain(pools) {
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
    fn no_threads_and_too_many_are_errors() {
        for error in [Rayon::new(0).unwrap_err(), Team::new(0).unwrap_err()] {
            assert_eq!(error.to_string(), "a pool of 0 threads can do nothing");
        }
        for error in [Rayon::new(100_000).unwrap_err(), Team::new(100_000).unwrap_err()] {
            assert_eq!(error.to_string(), "100000 threads are more than 1024");
        }
    }
}
