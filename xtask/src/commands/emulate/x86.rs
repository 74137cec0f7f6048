//! x86-64 by Bochs: a machine whose kernel starts `guest-init`, which runs the tests.
//!
//! The programs are those of `cargo test`, with the libraries that they are linked with: one build, compiled for the first x86-64, runs on all models.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;

use super::cpio::Archive;
use super::programs::{self, OF_TIERS, Program};
use super::{Model, Run, bochs, log};
use crate::interrupt::RemovedOnInterrupt;
use crate::packages::Missing;
use crate::packages::{Packages, run as run_command};
use crate::progress::Progress;
use crate::toolchain;

/// The processors, by the names that Bochs gives them: for each tier one that has no more than it needs.
pub(super) const MODELS: [Model; 4] = [
    Model { name: "corei7_haswell_4770", tiers: &["x86-64-v3"], tested: &["x86-64-v3"] },
    Model { name: "corei7_skylake_x", tiers: &["x86-64-v3", "x86-64-v4"], tested: &["x86-64-v4"] },
    Model { name: "arrow_lake", tiers: &["x86-64-v3", "x86-64-v3-avxvnni"], tested: &["x86-64-v3-avxvnni"] },
    Model {
        name: "sapphire_rapids",
        tiers: &["x86-64-v3", "x86-64-v3-avxvnni", "x86-64-v4", "x86-64-v4-vnni"],
        tested: &["x86-64-v4-vnni"],
    },
];

/// The emulator, what makes a disc to start from, and a kernel. The release is the first whose Bochs knows processors with AVX-VNNI.
const PACKAGES: Packages = Packages {
    folder: "bochs",
    release: "trixie",
    whole: &["bochs", "bochs-term", "bochsbios", "vgabios", "xorriso"],
    alone: &["isolinux", "syslinux-common"],
    named_by: &["linux-image-cloud-amd64"],
};

pub(super) fn run(folder: &Path, progress: &Progress) -> Result<Vec<Run>> {
    let is_x86 = cfg!(target_arch = "x86_64");
    ensure!(is_x86, Missing("x86-64's processors are emulated on x86-64 alone".into()));
    let root = PACKAGES.unpacked(folder, progress)?;
    progress.say("compiling");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(toolchain::workspace()).args(["test", "--workspace"]);
    let programs = programs::build(&mut cargo, &OF_TIERS)?;
    let temporary = tempfile::tempdir_in(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let _interrupt = RemovedOnInterrupt::new(temporary.path());
    let init = guest_init(temporary.path())?;
    let stripped = stripped(&init, &programs, temporary.path())?;
    progress.say(format!("testing on {}", MODELS.map(|model| model.name).join(", ")));
    let test = |model: Model| {
        let (begun, log) = (Instant::now(), log(folder, model)?);
        let machine = temporary.path().join(model.name);
        fs::create_dir(&machine)?;
        let disc = bochs::disc(&root, &machine, &first_files(&stripped, &programs, model)?)?;
        let said = bochs::console(&root, &machine, model.name, &disc)?;
        fs::write(&log, &said).with_context(|| format!("cannot write {}", log.display()))?;
        Ok(Run { model, programs: programs.len(), failures: failures(&said, &programs), time: begun.elapsed(), log })
    };
    MODELS.into_par_iter().with_max_len(1).map(test).collect()
}

/// Builds the first process.
fn guest_init(folder: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(toolchain::workspace()).env("CARGO_TARGET_DIR", folder.join("init"));
    run_command(cargo.args(["build", "--quiet", "--release", "--package", "guest-init"]))?;
    Ok(folder.join("init/release/guest-init"))
}

/// Where copies of programs without names and lines for debuggers lie: the machine's memory is small.
fn stripped(init: &Path, programs: &[Program], folder: &Path) -> Result<PathBuf> {
    let to = folder.join("stripped");
    fs::create_dir(&to)?;
    let all = programs.iter().map(|program| (program.executable.clone(), program.file_name()));
    for (executable, name) in all.chain([(init.to_owned(), "init".to_owned())]) {
        run_command(Command::new("strip").arg("-o").arg(to.join(name)).arg(executable))?;
    }
    Ok(to)
}

/// The files that the kernel finds in its memory: all that there is.
fn first_files(stripped: &Path, programs: &[Program], model: Model) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["dev", "tmp"] {
        archive.folder(folder);
    }
    archive.device("dev/console", [5, 1]);
    archive.device("dev/null", [1, 3]);
    let (mut folders, mut libraries, mut lines) = (BTreeSet::new(), BTreeSet::new(), String::new());
    for name in programs.iter().map(Program::file_name).chain(["init".to_owned()]) {
        let path = stripped.join(&name);
        libraries.extend(libraries_of(&path)?);
        archive.file(&name, &fs::read(&path)?);
    }
    for library in &libraries {
        // From the outermost folder to the innermost.
        for folder in library.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let name = folder.to_string_lossy();
            let name = name.trim_start_matches('/');
            if !name.is_empty() && folders.insert(name.to_owned()) {
                archive.folder(name);
            }
        }
        archive.file(library.to_string_lossy().trim_start_matches('/'), &fs::read(library)?);
    }
    let variables = model.variables().map(|(name, value)| format!("{name}={value}")).join(" ");
    for program in programs {
        lines += &format!("{variables} /{} {}\n", program.file_name(), program.arguments().join(" "));
    }
    archive.file("tests.list", lines.as_bytes());
    Ok(archive.finish())
}

/// The shared libraries of a program and what loads them, as `ldd` finds them.
fn libraries_of(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("ldd cannot be started")?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(list
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(PathBuf::from)
        .collect())
}

/// The programs that the console does not say of that they passed.
fn failures(said: &str, programs: &[Program]) -> Vec<String> {
    let passed = |program: &&Program| !said.contains(&format!("guest-init: /{} passed", program.file_name()));
    let mut failures: Vec<_> = programs.iter().filter(passed).map(Program::name).collect();
    if failures.is_empty() && bochs::results(said) != Some([programs.len(), 0]) {
        failures.push("the machine".to_owned());
    }
    failures
}
