//! What a team promises: each piece once, panics that go on in the caller, and that any number of callers may have it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use keepq_gemm::{Executor, Team};

/// A step of so many pieces, each of which is counted where it is done; all are done when it has returned, each once.
fn step(team: &Team, pieces: usize) {
    let done: Vec<_> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
    let next = AtomicUsize::new(0);
    team.run(&|| {
        while let Some(piece) = done.get(next.fetch_add(1, Ordering::Relaxed)) {
            piece.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(done.into_iter().all(|times| times.into_inner() == 1));
}

/// The payload of what `call` panics with.
fn payload_of(call: impl FnOnce()) -> u32 {
    *panic::catch_unwind(AssertUnwindSafe(call)).expect_err("a panic").downcast().expect("the payload")
}

/// Whether this thread is a team's own.
fn is_worker() -> bool {
    thread::current().name().is_some_and(|name| name.starts_with("keepq-"))
}

#[test]
fn hundreds_of_steps_in_passes_and_outside() {
    for threads in [1, 2, 3, 8] {
        let team = Team::new(threads).unwrap();
        assert_eq!(team.threads(), threads);
        for pass in 0..40 {
            team.enter(&mut || (0..10).for_each(|pieces| step(&team, pieces)));
            step(&team, pass);
        }
    }
}

#[test]
fn workers_work() {
    let team = Team::new(3).unwrap();
    let (here, is_there) = (Barrier::new(3), Mutex::new(Vec::new()));
    // Who has begun waits for two more, so that three have.
    team.run(&|| {
        here.wait();
        is_there.lock().unwrap().push(thread::current().id());
    });
    let mut is_there = is_there.into_inner().unwrap();
    is_there.sort_by_key(|id| format!("{id:?}"));
    is_there.dedup();
    assert_eq!(is_there.len(), 3);
}

#[test]
fn one_thread_is_the_callers() {
    let team = Team::new(1).unwrap();
    let caller = thread::current().id();
    team.enter(&mut || team.run(&|| assert_eq!(thread::current().id(), caller)));
    assert_eq!(payload_of(|| team.run(&|| panic::panic_any(3_u32))), 3);
    step(&team, 5);
}

#[test]
fn a_panic_goes_on_in_the_caller_once() {
    let team = Team::new(3).unwrap();
    for round in 0..50_u32 {
        let everywhere = || team.run(&|| panic::panic_any(round));
        assert_eq!(payload_of(everywhere), round);
        step(&team, 20);

        // In a worker alone. The caller waits until one is there, which has then begun.
        let (worker_is_there, panics) = (AtomicBool::new(false), AtomicUsize::new(0));
        let in_a_worker = || {
            team.run(&|| {
                if !is_worker() {
                    while !worker_is_there.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                } else if !worker_is_there.swap(true, Ordering::AcqRel) {
                    panics.fetch_add(1, Ordering::Relaxed);
                    panic::panic_any(round + 100);
                }
            });
        };
        let caught =
            if round % 2 == 0 { payload_of(in_a_worker) } else { payload_of(|| team.enter(&mut || in_a_worker())) };
        assert_eq!((caught, panics.into_inner()), (round + 100, 1));
        step(&team, 20);
    }
}

#[test]
fn the_callers_own_panic_waits_for_the_workers() {
    let team = Team::new(2).unwrap();
    let (worker_is_there, has_returned) = (AtomicBool::new(false), AtomicBool::new(false));
    let call = || {
        team.run(&|| {
            if is_worker() {
                worker_is_there.store(true, Ordering::Release);
                thread::sleep(Duration::from_millis(20));
                has_returned.store(true, Ordering::Release);
            } else {
                while !worker_is_there.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                panic::panic_any(9_u32);
            }
        });
    };
    assert_eq!(payload_of(call), 9);
    assert!(has_returned.load(Ordering::Acquire), "what the step borrows is in use until then");
}

/// It neither waits for the first one's step nor for its worker.
#[test]
fn a_second_caller_works_alone() {
    let team = Team::new(2).unwrap();
    let (begun, release) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            team.run(&|| {
                begun.store(true, Ordering::Release);
                while !release.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            });
        });
        while !begun.load(Ordering::Acquire) {
            thread::yield_now();
        }
        (0..100).for_each(|pieces| step(&team, pieces));
        release.store(true, Ordering::Release);
    });
}

#[test]
fn a_step_in_a_step_is_done() {
    let (team, other) = (Team::new(2).unwrap(), Team::new(2).unwrap());
    let next = AtomicUsize::new(0);
    team.enter(&mut || {
        team.run(&|| {
            while next.fetch_add(1, Ordering::Relaxed) < 30 {
                step(&team, 5);
                step(&other, 5);
                team.enter(&mut || step(&team, 3));
            }
        });
    });
}

#[test]
fn two_teams_and_two_callers_of_each() {
    let teams = [Team::new(2).unwrap(), Team::new(3).unwrap()];
    thread::scope(|scope| {
        for team in teams.iter().chain(&teams) {
            scope.spawn(|| (0..50).for_each(|_| team.enter(&mut || (0..20).for_each(|pieces| step(team, pieces)))));
        }
    });
}

#[test]
fn a_pass_that_panics_is_over() {
    let team = Team::new(2).unwrap();
    assert_eq!(payload_of(|| team.enter(&mut || panic::panic_any(1_u32))), 1);
    team.enter(&mut || step(&team, 9));
}

#[test]
fn dropping_a_team_ends_its_threads() {
    for threads in [1, 2, 5] {
        drop(Team::new(threads).unwrap());
        // With workers that spin, that have just stopped, and that have been parked for long.
        for wait in [0, 0, 5] {
            let team = Team::new(threads).unwrap();
            team.enter(&mut || step(&team, 3));
            thread::sleep(Duration::from_millis(wait));
            let start = Instant::now();
            drop(team);
            assert!(start.elapsed() < Duration::from_secs(10));
        }
    }
}
