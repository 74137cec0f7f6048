//! All interleavings of a team's threads, by loom: `RUSTFLAGS="--cfg loom" cargo test -p keepq-gemm --test loom --release`.
//!
//! The module under test is the team's own file, on loom's primitives in place of the standard library's. Loom finds steps that are
//! lost, done twice, or begun too late, and threads that wait for ever; a worker that still used a step's borrows after the
//! step would touch a loom cell that has been dropped.
#![cfg(loom)]

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

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{self, JoinHandle};
use meeting::Meeting;

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

/// A step that takes pieces from a queue, as the driver's do. All are done when it has returned, each once.
fn step(meeting: &Meeting, pieces: usize) {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    meeting.run(&|| {
        while next.fetch_add(1, Ordering::Relaxed) < pieces {
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), pieces);
}

/// The worker comes before, during or after each step: parked or not, it misses no more than the work, and nobody waits for it.
#[test]
fn steps_with_a_worker_that_may_be_late() {
    loom::model(|| {
        let (meeting, workers) = meeting(1);
        step(&meeting, 1);
        step(&meeting, 1);
        end(&meeting, workers);
    });
}

#[test]
fn steps_of_a_pass() {
    loom::model(|| {
        let (meeting, workers) = meeting(1);
        meeting.enter(&mut || step(&meeting, 1));
        step(&meeting, 1);
        end(&meeting, workers);
    });
}

#[test]
fn two_workers() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let (meeting, workers) = meeting(2);
        meeting.enter(&mut || step(&meeting, 2));
        end(&meeting, workers);
    });
}

/// Whoever's call panics, the caller has the payload once, and the next step is as any other.
#[test]
fn a_panic_goes_on_in_the_caller() {
    panic::set_hook(Box::new(|_| ()));
    loom::model(|| {
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
    loom::model(|| {
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
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
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
    loom::model(|| {
        let (meeting, workers) = meeting(1);
        meeting.run(&|| step(&meeting, 1));
        end(&meeting, workers);
    });
}

/// Workers are sent home wherever they are: not yet there, spinning, parked.
#[test]
fn workers_go_home() {
    loom::model(|| {
        let (meeting, workers) = meeting(2);
        end(&meeting, workers);
    });
    loom::model(|| {
        let (meeting, workers) = meeting(1);
        meeting.enter(&mut || ());
        end(&meeting, workers);
    });
}
