//! The tokenizer against llama.cpp, against itself, and against bad metadata.

mod fuzzed;
mod made;
mod metadata;
mod properties;
mod small;
mod spm;
mod vectors;
