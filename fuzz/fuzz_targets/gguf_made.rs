//! Files of legal and other fields: those that open can be read in every way, and written again.
#![no_main]

#[path = "../../crates/gguf/tests/it/fuzzed/made.rs"]
mod made;
#[allow(dead_code, reason = "the tests' files need more of it")]
#[path = "../../crates/gguf/tests/it/hostile/raw.rs"]
mod raw;
#[path = "../../crates/gguf/tests/it/walk.rs"]
mod walk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|made: made::Made<'_>| made.check());
