//! WebAssembly by node, which has WASI: the portable tier, compiled with registers of 128 bits.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::programs::{self, OF_TIERS, PORTABLE};
use super::{Model, Run, here};
use crate::packages::Missing;
use crate::progress::Progress;
use crate::toolchain::{self, Compiler};

const TARGET: &str = "wasm32-wasip1";

pub(super) const MODELS: [Model; 1] = [Model { name: "node", tiers: &["portable"], tested: &["portable"] }];

/// What node does with a program and its arguments.
const SCRIPT: &str = include_str!("wasi.mjs");

pub(super) fn run(folder: &Path, progress: &Progress) -> Result<Vec<Run>> {
    let version = Command::new("node").arg("--version").output();
    ensure!(version.is_ok(), Missing("there is no node".into()));
    let compiler = Compiler::of(TARGET, folder, progress)?;
    progress.say("compiling for WebAssembly");
    let linker = toolchain::linker()?;
    let programs = programs::build_only(&[&PORTABLE[..], &OF_TIERS].concat(), || {
        let mut cargo = compiler.cargo_test();
        cargo.env("CARGO_TARGET_WASM32_WASIP1_LINKER", &linker);
        cargo.env("CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS", "-C target-feature=+simd128");
        cargo
    })?;
    here::run(folder, &MODELS, &programs, progress, |_| {
        let mut node = Command::new("node");
        node.args(["--no-warnings", "--input-type=module", "--eval", SCRIPT, "--"]);
        node
    })
}
