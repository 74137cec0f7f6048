//! What a team is synchronised with. A test with loom has a module of the same names in its place.

use std::hint;
use std::time::{Duration, Instant};

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

/// How long a thread spins before it parks: longer than what a decoder does between two products of one token, shorter than what
/// parking and waking up would be worth on a machine that has other work.
const PATIENCE: Duration = Duration::from_micros(50);

/// Turns between two looks at the clock.
const TURNS: usize = 32;

/// Spins until `done`, or for so long that the thread had better park; says which.
pub(super) fn spin_until(done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..TURNS {
            if done() {
                return true;
            }
            hint::spin_loop();
        }
        if start.elapsed() > PATIENCE {
            return false;
        }
    }
}
