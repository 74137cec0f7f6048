//! Metadata of a tokenizer, legal or not, and any text: an error of one line, or ids that are decoded.
#![no_main]

#[path = "../../crates/decoder/tests/tokenizer/made.rs"]
mod made;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|vocabulary: made::MadeVocabulary<'_>| vocabulary.check());
