//! AArch64 by QEMU, which runs one program: no kernel, and the machine's own system calls.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::packages::Packages;
use super::programs::{self, OF_TIERS, PORTABLE, Program};
use super::{Model, Progress, Run, log, on_each, toolchain};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The processors, by the names that QEMU gives them.
pub(super) const MODELS: [Model; 3] = [
    Model { name: "cortex-a57", tiers: &["neon"] },
    Model { name: "cortex-a76", tiers: &["neon", "neon-dotprod"] },
    Model { name: "max", tiers: &["neon", "neon-dotprod", "neon-i8mm"] },
];

/// The emulator, and the C library that programs are linked with.
const PACKAGES: Packages = Packages {
    folder: "qemu",
    whole: &[],
    alone: &[
        "qemu-user",
        "libc6-arm64-cross",
        "libc6-dev-arm64-cross",
        "libgcc-s1-arm64-cross",
        "libgcc-14-dev-arm64-cross",
    ],
    named_by: &[],
};

pub(super) fn run(folder: &Path, progress: &Progress) -> Result<Vec<Run>> {
    let root = PACKAGES.unpacked(folder, progress)?;
    let suites = [&PORTABLE[..], &OF_TIERS].concat();
    let mut cargo = toolchain::cargo_test(folder, TARGET, progress)?;
    for package in suites.iter().map(|suite| suite.package()).collect::<std::collections::BTreeSet<_>>() {
        cargo.args(["--package", package]);
    }
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", toolchain::linker()?);
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", linking(&root));
    progress.say("compiling for AArch64");
    let programs = programs::build(&mut cargo, &suites)?;
    on_each(&MODELS, progress, |model| test(folder, &root, model, &programs))
}

/// How the linker finds the C library: what a C compiler would tell it.
fn linking(root: &Path) -> String {
    let library = root.join("usr/aarch64-linux-gnu/lib");
    let library = library.display();
    format!(
        "-C linker-flavor=ld.lld -L {library} -C link-arg=--sysroot={0} -C link-arg=-L{0}/usr/lib/gcc-cross/aarch64-linux-gnu/14 \
         -C link-arg={library}/Scrt1.o -C link-arg={library}/crti.o -C link-arg={library}/crtn.o \
         -C link-arg=--dynamic-linker=/lib/ld-linux-aarch64.so.1",
        root.display()
    )
}

/// All programs on one model.
fn test(folder: &Path, root: &Path, model: Model, programs: &[Program]) -> Result<Run> {
    let (begun, log) = log(folder, model)?;
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut failures = Vec::new();
    for program in programs {
        let mut qemu = Command::new(root.join("usr/bin/qemu-aarch64"));
        qemu.args(["-cpu", model.name, "-L"]).arg(root.join("usr/aarch64-linux-gnu"));
        qemu.arg(&program.executable).args(program.arguments());
        qemu.env("KEEPQ_REQUIRE_TIERS", model.tiers.join(",")).env("KEEPQ_QUICK", "1").env("RUST_BACKTRACE", "0");
        qemu.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
        let status = qemu.status().context("QEMU cannot be started")?;
        if !status.success() {
            failures.push(program.name());
        }
    }
    Ok(Run { model, programs: programs.len(), failures, time: begun.elapsed(), log })
}
