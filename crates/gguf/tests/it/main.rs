//! Tests of keepq-gguf over whole files, in one binary.

mod legal;
mod malformed;
mod memory;
mod properties;
mod python;
mod raw;
mod source;
mod split;
mod walk;
mod write;
