//! Files of a folder, opened as a set by any of them.
#![no_main]

#[allow(dead_code, reason = "a file alone is checked elsewhere")]
#[path = "../../crates/gguf/tests/it/fuzzed/made.rs"]
mod made;
#[allow(dead_code, reason = "the tests' files need more of it")]
#[path = "../../crates/gguf/tests/it/hostile/raw.rs"]
mod raw;
#[path = "../../crates/gguf/tests/it/fuzzed/set.rs"]
mod set;
#[path = "../../crates/gguf/tests/it/walk.rs"]
mod walk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|set: set::MadeSet<'_>| set.check());
