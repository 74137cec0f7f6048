//! A compiler for another architecture, and a linker.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::packages::Packages;
use crate::progress::Progress;

/// Debian's compiler with its libraries for the targets, of the first release whose compiler is new enough and has WASI's.
const COMPILER: Packages = Packages {
    folder: "rust",
    release: "forky",
    whole: &["libstd-rust-dev:amd64"],
    alone: &["rustc:amd64", "libstd-rust-dev:arm64", "libstd-rust-dev-wasm32"],
    named_by: &[],
};

/// A compiler that has the library of a target, and where it builds.
#[derive(Debug)]
pub(crate) struct Compiler {
    target: &'static str,
    folder: PathBuf,
    /// Debian's; none where it is the project's own.
    rustc: Option<PathBuf>,
}

impl Compiler {
    /// The project's own, where its library for the target is installed (`rustup target add`); otherwise Debian's.
    ///
    /// # Errors
    /// [`Missing`](crate::packages::Missing) where neither can be had.
    pub(crate) fn of(target: &'static str, folder: &Path, progress: &Progress) -> Result<Self> {
        let is_installed = asked(&["--print", "target-libdir", "--target", target])?.is_dir();
        let debian = || wrapper(folder, &COMPILER.unpacked(folder, progress)?);
        let rustc = if is_installed { None } else { Some(debian()?) };
        Ok(Self { target, folder: folder.join("target"), rustc })
    }

    /// `cargo test` for the target.
    pub(crate) fn cargo_test(&self) -> Command {
        let mut cargo = self.cargo("test");
        cargo.env("CARGO_PROFILE_TEST_DEBUG", "0");
        cargo
    }

    /// A subcommand of cargo for the target, with this checkout as its folder.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(workspace()).args([subcommand, "--target", self.target]);
        cargo.env("CARGO_TARGET_DIR", &self.folder).env("CARGO_INCREMENTAL", "0");
        if let Some(rustc) = &self.rustc {
            cargo.env("RUSTC", rustc);
        }
        cargo
    }
}

/// The linker that comes with the project's compiler.
pub(crate) fn linker() -> Result<PathBuf> {
    let libraries = asked(&["--print", "target-libdir"])?;
    let linker = libraries.with_file_name("bin").join("rust-lld");
    ensure!(linker.is_file(), "there is no linker {}", linker.display());
    Ok(linker)
}

/// The checkout.
pub(crate) fn workspace() -> &'static Path {
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
