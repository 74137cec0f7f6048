//! Any bytes are weights of any type: kernels of all tiers make the same of them, whatever the activations are, never panic, and never
//! read past what they are given, which ends with its allocation.
#![no_main]

#[path = "../../crates/gemm/tests/any_bytes/problem.rs"]
mod problem;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(problem) = problem::Problem::read(bytes) {
        problem.check();
    }
});
