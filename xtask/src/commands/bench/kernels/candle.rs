//! candle's `QMatMul` beside us, by a program that is built when it is asked for: benches/candle.
//!
//! It chooses most of its kernels when it is compiled, so that it is compiled for one processor: by default for AVX2, as the tier
//! x86-64-v3 is, and then without what it would find at run time beyond that.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::super::process;
use super::peer_process::PeerProcess;

/// The processor that it is compiled for where none is said: AVX2, FMA and F16C, and nothing beyond.
pub(super) const AVX2: &str = "haswell";

/// How often the progress of a build is drawn.
const TICK: Duration = Duration::from_millis(250);

/// Builds the program for a processor, as rustc names it, and starts it with so many threads.
///
/// # Errors
/// What cargo says of a build that fails.
pub(super) fn start(cpu: &OsStr, threads: usize) -> Result<Option<PeerProcess>> {
    let program = build(cpu)?;
    let mut command = Command::new(&program);
    // rayon's threads, which float weights are multiplied by, and those of candle's own.
    for variable in ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"] {
        command.env(variable, threads.to_string());
    }
    if cpu == AVX2 {
        // Its layouts for Q4_K, Q6_K and Q8_0 would be multiplied with AVX-512 where there is it.
        command.env("MISTRALRS_FORCE_AVX2", "1");
    }
    PeerProcess::start_told("candle", &format!("candle-core for {}", cpu.display()), &mut command)
}

/// The program, compiled for `cpu`; later calls find it compiled.
fn build(cpu: &OsStr) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("benches").join("candle");
    // Beside this program's own target folder, or where it is said to lie: one folder a processor, since flags belong to all of it.
    let target = target_folder(&folder).join(cpu);
    let mut flags = OsString::from("-C target-cpu=");
    flags.push(cpu);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&target).env("RUSTFLAGS", flags).env_remove("CARGO_ENCODED_RUSTFLAGS");
    let progress = ProgressBar::new_spinner()
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{spinner} {msg} ({elapsed})")?)
        .with_message("compiling candle, at first some minutes");
    progress.enable_steady_tick(TICK);
    let Output { status, stderr, .. } = cargo.output().context("cannot start cargo")?;
    progress.finish_and_clear();
    if !status.success() {
        return Err(process::failure(status, &stderr)).context("cargo cannot build benches/candle");
    }
    Ok(target.join("release").join("keepq-bench-candle"))
}

/// Where it is built, if nothing else is said.
fn target_folder(folder: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => PathBuf::from(target).join("candle"),
        None => folder.join("target"),
    }
}
