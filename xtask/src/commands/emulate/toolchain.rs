//! A compiler for another architecture, and a linker.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Progress;
use super::packages::Packages;

/// Debian's compiler with the library for AArch64.
const COMPILER: Packages = Packages {
    folder: "rust",
    whole: &["libstd-rust-web-dev:amd64"],
    alone: &["rustc-web", "libstd-rust-web-dev:arm64"],
    named_by: &[],
};

/// `cargo test` with a compiler that has `target`, and this checkout as its folder.
pub(super) fn cargo_test(folder: &Path, target: &str, progress: &Progress) -> Result<Command> {
    let mut cargo = cargo(folder, "test", target, progress)?;
    cargo.env("CARGO_PROFILE_TEST_DEBUG", "0");
    Ok(cargo)
}

/// A subcommand of cargo with a compiler that has `target`, and this checkout as its folder.
///
/// That is the project's own compiler, where its library for the target is installed (`rustup target add`); otherwise Debian's.
pub(in crate::commands) fn cargo(
    folder: &Path,
    subcommand: &str,
    target: &str,
    progress: &Progress,
) -> Result<Command> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(workspace()).args([subcommand, "--target", target]);
    cargo.env("CARGO_TARGET_DIR", folder.join("target"));
    if !asked(&["--print", "target-libdir", "--target", target])?.is_dir() {
        let root = COMPILER.unpacked(folder, progress)?;
        cargo.env("RUSTC", wrapper(folder, &root)?);
    }
    Ok(cargo)
}

/// The linker that comes with the project's compiler.
pub(super) fn linker() -> Result<PathBuf> {
    let libraries = asked(&["--print", "target-libdir"])?;
    let linker = libraries.with_file_name("bin").join("rust-lld");
    ensure!(linker.is_file(), "there is no linker {}", linker.display());
    Ok(linker)
}

/// The checkout.
pub(super) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The path that the project's compiler answers with.
fn asked(question: &[&str]) -> Result<PathBuf> {
    let output = Command::new("rustc").current_dir(workspace()).args(question).output();
    let output = output.context("rustc cannot be started")?;
    ensure!(output.status.success(), "rustc does not know {}", question.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// A script that runs Debian's compiler by its own loader.
fn wrapper(folder: &Path, root: &Path) -> Result<PathBuf> {
    let (path, root) = (folder.join("rustc"), root.display());
    let script = format!(
        "#!/bin/sh\n\
         exec '{root}/usr/lib64/ld-linux-x86-64.so.2' --library-path '{root}/usr/lib/x86_64-linux-gnu' \
         '{root}/usr/bin/rustc' --sysroot '{root}/usr' \"$@\"\n"
    );
    fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}
