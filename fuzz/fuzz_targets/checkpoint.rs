//! Folders of 4-bit checkpoints, legal but for what is changed: an error of one line, or weights that are read and converted.
#![no_main]

#[path = "../../crates/checkpoint/tests/it/fuzzed/made.rs"]
mod made;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|checkpoint: made::MadeCheckpoint<'_>| checkpoint.check());
