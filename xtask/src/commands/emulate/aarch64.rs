//! AArch64 by QEMU, which runs one program: no kernel, and the machine's own system calls.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::programs::{self, OF_TIERS, PORTABLE};
use super::{Model, Run, here};
use crate::packages::Packages;
use crate::progress::Progress;
use crate::toolchain::{self, Compiler};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The processors, by the names that QEMU gives them. One of them also runs what this architecture's compiler makes of the definitions.
pub(super) const MODELS: [Model; 3] = [
    Model { name: "cortex-a57", tiers: &["neon"], tested: &["portable", "neon"] },
    Model { name: "cortex-a76", tiers: &["neon", "neon-dotprod"], tested: &["neon-dotprod"] },
    Model { name: "max", tiers: &["neon", "neon-dotprod", "neon-i8mm"], tested: &["neon-i8mm"] },
];

/// The emulator, and the C library that programs are linked with.
const PACKAGES: Packages = Packages {
    folder: "qemu",
    release: "trixie",
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
    let compiler = Compiler::of(TARGET, folder, progress)?;
    progress.say("compiling for AArch64");
    let (linker, flags) = (toolchain::linker()?, linking(&root));
    let programs = programs::build_only(&[&PORTABLE[..], &OF_TIERS].concat(), || {
        let mut cargo = compiler.cargo_test();
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", &linker);
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", &flags);
        cargo
    })?;
    here::run(folder, &MODELS, &programs, progress, |model| {
        let mut qemu = Command::new(root.join("usr/bin/qemu-aarch64"));
        qemu.args(["-cpu", model.name, "-L"]).arg(root.join("usr/aarch64-linux-gnu"));
        qemu
    })
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
