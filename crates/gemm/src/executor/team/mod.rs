//! [`Team`]: a few threads that stay awake through a pass.

mod meeting;
mod sync;

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::{Executor, check_threads};
use crate::ExecutorError;
use meeting::Meeting;

/// The caller's thread and a few of its own, for passes of many short steps.
///
/// In a pass ([`enter`](Executor::enter)) workers spin for the next step, for some tens of microseconds, and then park; between
/// passes they are parked. A step never waits for a worker to wake up: who comes late finds it closed. So a worker that the system
/// does not let run holds the others up by the piece that it has in hand, and by nothing if it has none.
///
/// A team has one step at a time. Where one is under way, [`run`](Executor::run) works on the caller's thread alone: within a step,
/// and for a second caller. Two teams know nothing of each other. A panic in a step goes on in its caller when all
/// have returned, and the team can be used again. Dropping it ends its threads.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use keepq_gemm::{Executor, Team};
///
/// let team = Team::new(2)?;
/// let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
/// team.enter(&mut || {
///     team.run(&|| {
///         while let piece @ 0..100 = next.fetch_add(1, Ordering::Relaxed) {
///             sum.fetch_add(piece, Ordering::Relaxed);
///         }
///     });
/// });
/// assert_eq!(sum.into_inner(), 4950);
/// # Ok::<(), keepq_gemm::ExecutorError>(())
/// ```
pub struct Team {
    meeting: Arc<Meeting>,
    workers: Vec<JoinHandle<()>>,
}

impl Team {
    /// A team of `threads` threads with the caller's, up to [`MOST_THREADS`](crate::MOST_THREADS).
    ///
    /// # Errors
    /// [`ExecutorError`] where `threads` is 0 or too many, or the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, ExecutorError> {
        check_threads(threads)?;
        let mut team = Self { meeting: Arc::new(Meeting::new()), workers: Vec::with_capacity(threads - 1) };
        for i in 1..threads {
            let meeting = Arc::clone(&team.meeting);
            match thread::Builder::new().name(format!("keepq-{i}")).spawn(move || meeting.attend()) {
                Ok(worker) => team.workers.push(worker),
                Err(reason) => return Err(ExecutorError::CannotStart { threads, reason: reason.to_string() }),
            }
        }
        Ok(team)
    }
}

impl Executor for Team {
    fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    fn run(&self, work: &(dyn Fn() + Sync)) {
        if self.workers.is_empty() { work() } else { self.meeting.run(work) }
    }

    fn enter(&self, pass: &mut (dyn FnMut() + Send)) {
        self.meeting.enter(pass);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.meeting.end();
        for worker in self.workers.drain(..) {
            // What a step panicked with went to its caller.
            let _ended = worker.join();
        }
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team").field("threads", &self.threads()).finish()
    }
}
