//! All interleavings of a team's threads, by loom: `RUSTFLAGS="--cfg loom" cargo test -p keepq-gemm --test loom --release`.
//!
//! The module under test is the team's own file, on loom's primitives in place of the standard library's. What is found: steps that are
//! not done, threads that wait for ever, and borrows of a step that are used after it.
#![cfg(loom)]
#![allow(unsafe_code, reason = "loom's cells give raw pointers")]

#[path = "../src/executor/team/meeting.rs"]
#[allow(dead_code, unreachable_pub)]
mod meeting;
mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};

    /// One look, another after other threads had their turn, and the thread loses patience.
    pub(super) fn spin_until(done: impl Fn() -> bool) -> bool {
        done() || {
            loom::thread::yield_now();
            done()
        }
    }
}

use std::panic::{self, AssertUnwindSafe};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{self, JoinHandle};
use meeting::Meeting;

/// Two threads are stopped in so many places where they could have gone on, three in one fewer: each more makes it minutes.
const PREEMPTIONS: usize = 3;

/// Runs `model` in each order that its threads can take turns in, with so many preemptions.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = Some(preemptions);
    explorer.check(model);
}

/// A meeting with so many workers.
fn meeting(workers: usize) -> (Arc<Meeting>, Vec<JoinHandle<()>>) {
    let meeting = Arc::new(Meeting::new());
    let attend = |meeting: &Arc<Meeting>| {
        let meeting = Arc::clone(meeting);
        thread::spawn(move || meeting.attend())
    };
    let workers = (0..workers).map(|_| attend(&meeting)).collect();
    (meeting, workers)
}

fn end(meeting: &Meeting, workers: Vec<JoinHandle<()>>) {
    meeting.end();
    workers.into_iter().for_each(|worker| worker.join().expect("a worker that came home"));
}

/// How often a piece was done.
struct Piece(UnsafeCell<usize>);

// SAFETY: whoever accesses one says why no one else does, and loom sees whether it is so.
unsafe impl Sync for Piece {}

/// A step that takes pieces from a queue, as the driver's do. All are done when it has returned, each once, and it is seen
/// without further synchronisation, which the cells watch over.
fn step(meeting: &Meeting, pieces: usize) {
    let (next, done) = (AtomicUsize::new(0), [Piece(UnsafeCell::new(0)), Piece(UnsafeCell::new(0))]);
    meeting.run(&|| {
        while let Some(piece) = done[..pieces].get(next.fetch_add(1, Ordering::Relaxed)) {
            // SAFETY: each piece is taken once, so that this is the only access until the step is over.
            piece.0.with_mut(|times| unsafe { *times += 1 });
        }
    });
    // SAFETY: the step is over, and with it all others' access; loom fails where it is not.
    done[..pieces].iter().for_each(|piece| piece.0.with(|times| assert_eq!(unsafe { *times }, 1)));
}

/// The worker comes before, during or after each step: parked or not, it misses no more than the work, and nobody waits for it.
#[test]
fn steps_with_a_worker_that_may_be_late() {
    explore(PREEMPTIONS, || {
        let (meeting, workers) = meeting(1);
        step(&meeting, 1);
        step(&meeting, 1);
        end(&meeting, workers);
    });
}

#[test]
fn steps_of_a_pass() {
    explore(PREEMPTIONS, || {
        let (meeting, workers) = meeting(1);
        meeting.enter(&mut || step(&meeting, 1));
        step(&meeting, 1);
        end(&meeting, workers);
    });
}

#[test]
fn two_workers() {
    explore(PREEMPTIONS - 1, || {
        let (meeting, workers) = meeting(2);
        meeting.enter(&mut || step(&meeting, 2));
        end(&meeting, workers);
    });
}

/// Whoever's call panics, the caller has the payload once, and the next step is as any other.
#[test]
fn a_panic_goes_on_in_the_caller() {
    panic::set_hook(Box::new(|_| ()));
    explore(PREEMPTIONS, || {
        let (meeting, workers) = meeting(1);
        let calls = AtomicUsize::new(0);
        let step_of_panics = || {
            meeting.run(&|| {
                calls.fetch_add(1, Ordering::Relaxed);
                panic::panic_any(7_u32);
            });
        };
        let payload = panic::catch_unwind(AssertUnwindSafe(step_of_panics)).expect_err("each call panics");
        assert_eq!(payload.downcast_ref(), Some(&7_u32));
        assert!((1..=2).contains(&calls.load(Ordering::Relaxed)));
        step(&meeting, 1);
        end(&meeting, workers);
    });
}

#[test]
fn a_panic_of_a_worker_alone() {
    panic::set_hook(Box::new(|_| ()));
    explore(PREEMPTIONS, || {
        let (meeting, workers) = meeting(1);
        let caller = thread::current().id();
        let panicked = AtomicUsize::new(0);
        let step_of_a_panic = || {
            meeting.run(&|| {
                if thread::current().id() != caller {
                    panicked.fetch_add(1, Ordering::Relaxed);
                    panic::panic_any(7_u32);
                }
            });
        };
        let outcome = panic::catch_unwind(AssertUnwindSafe(step_of_a_panic));
        assert_eq!(outcome.is_err(), panicked.load(Ordering::Relaxed) == 1);
        step(&meeting, 1);
        end(&meeting, workers);
    });
}

/// The second works alone, or after the first.
#[test]
fn two_callers() {
    explore(PREEMPTIONS - 1, || {
        let (meeting, mut workers) = meeting(1);
        let second = Arc::clone(&meeting);
        workers.push(thread::spawn(move || second.enter(&mut || step(&second, 1))));
        meeting.enter(&mut || step(&meeting, 1));
        workers.pop().expect("the second caller").join().expect("its step was done");
        end(&meeting, workers);
    });
}

#[test]
fn a_step_in_a_step() {
    explore(PREEMPTIONS, || {
        let (meeting, workers) = meeting(1);
        meeting.run(&|| step(&meeting, 1));
        end(&meeting, workers);
    });
}

/// Workers are sent home wherever they are: not yet there, spinning, parked.
#[test]
fn workers_go_home() {
    explore(PREEMPTIONS - 1, || {
        let (meeting, workers) = meeting(2);
        end(&meeting, workers);
    });
    explore(PREEMPTIONS, || {
        let (meeting, workers) = meeting(1);
        meeting.enter(&mut || ());
        end(&meeting, workers);
    });
}
