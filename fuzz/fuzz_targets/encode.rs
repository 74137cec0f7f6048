//! Any bytes are blocks of any type, and any floats are encoded, or refused: as the naive implementation has them.
#![no_main]

#[path = "../../crates/blocks/tests/fuzzed/coding.rs"]
mod coding;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| coding::check(bytes));
