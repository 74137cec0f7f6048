//! The clock, by a chain of steps that each wait for the one before.

use std::hint::black_box;

use super::super::super::limits::{SHORT_PROBES, best};

/// Rounds of a chain: about a millisecond.
const ROUNDS: usize = 1 << 17;

/// Pairs of steps a round, so that the loop itself does not count.
const PAIRS: usize = 16;

/// Cycles a second of each of `threads` threads: additions and exclusive ors take one each, and a sum of such pairs cannot be
/// simplified as one of additions alone.
pub(super) fn hertz(threads: usize) -> f64 {
    let elapsed = best(SHORT_PROBES, threads, |_, _| {
        let (a, b) = black_box((0x9e37_79b9_7f4a_7c15_u64, 0x2545_f491_4f6c_dd1d));
        let mut x = black_box(1_u64);
        for _ in 0..ROUNDS {
            for _ in 0..PAIRS {
                x = x.wrapping_add(a) ^ b;
            }
        }
        black_box(x);
    });
    (2 * PAIRS * ROUNDS) as f64 / elapsed.as_secs_f64()
}
