//! Checkpoints written to a folder and read back.

mod act_order;
mod convert;
mod damaged;
mod folder;
mod foreign;
mod forms;
mod fuzzed;
mod recipes;
