//! Tests of keepq-gguf over whole files, in one binary.

mod fuzzed;
mod hostile;
mod legal;
#[cfg(target_os = "linux")]
mod linear;
mod malformed;
mod memory;
mod properties;
mod python;
mod source;
mod split;
mod walk;
mod write;

use hostile::raw;
