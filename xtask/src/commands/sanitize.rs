//! `xtask sanitize`: the tests under a sanitizer, which sees what a test cannot: reads past an end, memory used after it was freed,
//! leaks; or two threads at one place without an order between them.
//!
//! The toolchain is the one that everything is built with. Sanitizers are an unstable option of it, which `RUSTC_BOOTSTRAP` allows.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The arguments of `sanitize`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which one
    #[arg(value_enum)]
    sanitizer: Sanitizer,
    /// What cargo test is given besides [default: the library crates]
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sanitizer {
    /// Memory: bounds, use after free, leaks
    Address,
    /// Data races
    Thread,
}

impl Sanitizer {
    const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }

    /// What the library that comes with the toolchain is called by.
    const fn runtime(self) -> &'static str {
        match self {
            Self::Address => "_rt.asan.a",
            Self::Thread => "_rt.tsan.a",
        }
    }

    /// The crates whose tests run: all libraries, and for races those that have threads.
    const fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Address => &[
                "keepq-blocks",
                "keepq-act",
                "keepq-dot",
                "keepq-tinygemm",
                "keepq-simd",
                "keepq-gemm",
                "keepq-gguf",
                "keepq-checkpoint",
                "keepq-decoder",
            ],
            Self::Thread => &["keepq-gemm", "keepq-decoder"],
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sanitizer = args.sanitizer;
    let target = host()?;
    check_runtime(sanitizer, &target)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;

    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).arg("test").args(["--target", &target, "--lib", "--bins", "--tests"]);
    if sanitizer == Sanitizer::Thread {
        // Locks and channels of a standard library that was built without it would look like races.
        check_sources()?;
        cargo.arg("-Zbuild-std");
    }
    // Kernels that are watched take more than an hour to optimize, and less than a minute to compile as they are written.
    cargo.args(["--config", "profile.test.opt-level=1", "--config", "profile.test.package.keepq-simd.opt-level=0"]);
    // A folder of its own: other builds need not start over.
    let target_dir = target_dir(root).join("sanitize").join(sanitizer.name());
    cargo.arg("--target-dir").arg(target_dir);
    if args.arguments.is_empty() {
        cargo.arg("--no-fail-fast").args(sanitizer.packages().iter().flat_map(|package| ["--package", package]));
    }
    cargo.args(&args.arguments);
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", format!("-Zsanitizer={}", sanitizer.name()));
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(status.success(), "the tests fail under the {} sanitizer", sanitizer.name());
    Ok(())
}

/// What the compiler prints.
fn rustc(arguments: &[&str]) -> Result<String> {
    let output = Command::new("rustc").args(arguments).output().context("cannot run rustc")?;
    ensure!(output.status.success(), "rustc {} ends with {}", arguments.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The machine's own target.
fn host() -> Result<String> {
    let version = rustc(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// That the toolchain has the sanitizer's library.
fn check_runtime(sanitizer: Sanitizer, target: &str) -> Result<()> {
    let folder = PathBuf::from(rustc(&["--print", "target-libdir"])?.trim_end());
    let entries = folder.read_dir().with_context(|| folder.display().to_string())?;
    let mut names = entries.flatten().map(|entry| entry.file_name());
    if names.any(|name| name.to_string_lossy().ends_with(sanitizer.runtime())) {
        return Ok(());
    }
    bail!("this toolchain has no {} sanitizer for {target}", sanitizer.name())
}

/// That the toolchain has the sources of the standard library.
fn check_sources() -> Result<()> {
    let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?.trim_end());
    ensure!(
        sysroot.join("lib/rustlib/src/rust/library/std").is_dir(),
        "this toolchain has no sources of the standard library, which is built along: `rustup component add rust-src`"
    );
    Ok(())
}

/// The folder that cargo builds in.
fn target_dir(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}
