//! Any bytes are a GGUF file or an error, and all that a file offers can be read.
//!
//! A small real file is a good start: `cargo +nightly fuzz run gguf_parse fuzz/corpus/gguf_parse
//! crates/gguf/tests/data`.
#![no_main]

#[path = "../../crates/gguf/tests/it/walk.rs"]
mod walk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(gguf) = keepq_gguf::Gguf::parse(bytes) {
        walk::walk(&gguf);
    }
});
