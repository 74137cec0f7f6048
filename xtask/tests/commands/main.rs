//! The commands as users run them: what they print, and what they say of bad input.

mod arguments;
mod bench;
mod checkpoints;
mod dependencies;
#[cfg(target_os = "linux")]
mod faults;
mod fidelity;
mod fuzz_seeds;
mod gate;
mod generate;
#[path = "../../../crates/gguf/tests/it/hostile/mod.rs"]
mod hostile;
mod hostile_classes;
mod hostile_files;
mod hostile_models;
mod hostile_sets;
mod inspect;
mod instructions;
mod kernels;
#[cfg(target_os = "linux")]
mod killed;
mod matrix;
#[cfg(target_os = "linux")]
mod memory;
mod model;
mod mutate;
mod no_std;
mod quantize;
mod split;
mod support;
mod token_oracle;
mod tokens;
mod vectors;
mod verify;
