//! `xtask emulate`: the tests of the kernels on processors that this machine is not.
//!
//! What emulates them are Debian's packages, unpacked into a folder of the cache; nothing is installed. AArch64's processors are those of QEMU, which
//! runs programs; those of x86-64 are Bochs's, which runs a machine with a kernel of its own; WebAssembly is node's. Only results are judged: an
//! emulator's time says nothing.

mod aarch64;
mod bochs;
mod cpio;
mod here;
mod programs;
mod wasm32;
mod x86;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;

use self::programs::{PORTABLE, Program};
use crate::packages::Missing;
use crate::progress::Progress;
use crate::{cache, files};

/// The arguments of `emulate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose processors
    #[arg(value_enum, value_name = "ARCHITECTURE")]
    architecture: Architecture,
    /// Print JSON, a line a model and tier
    #[arg(long)]
    json: bool,
    /// Say why and succeed where the emulator, or a compiler for it, cannot be had
    #[arg(long)]
    or_skip: bool,
    /// The folder to keep the emulators in, in its part "emulation" [default: KEEPQ_CACHE, $XDG_CACHE_HOME/keepq or ~/.cache/keepq]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What is emulated.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Architecture {
    Aarch64,
    X86,
    Wasm32,
}

/// A processor.
#[derive(Clone, Copy, Debug)]
struct Model {
    name: &'static str,
    /// The tiers that it must have, by which the tests know that it is what it should be.
    tiers: &'static [&'static str],
    /// Those whose kernels are tested on it. Others are tested on models that have no more.
    tested: &'static [&'static str],
}

impl Model {
    /// The programs that it runs: what does not know of tiers belongs to the portable one.
    fn programs(self, all: &[Program]) -> impl Iterator<Item = &Program> {
        let is_portable = self.tested.contains(&"portable");
        all.iter().filter(move |program| is_portable || !PORTABLE.contains(&program.suite))
    }

    /// What the tests are told by.
    fn variables(self) -> [(&'static str, String); 4] {
        [
            ("KEEPQ_REQUIRE_TIERS", self.tiers.join(",")),
            ("KEEPQ_TEST_TIERS", self.tested.join(",")),
            ("KEEPQ_QUICK", "1".into()),
            ("RUST_BACKTRACE", "0".into()),
        ]
    }
}

/// How the tests went on a model.
#[derive(Debug)]
struct Run {
    model: Model,
    programs: usize,
    /// The names of programs that failed, or what else went wrong.
    failures: Vec<String>,
    time: Duration,
    /// All that the programs said.
    log: PathBuf,
}

/// A line of the results.
#[derive(Debug, Serialize)]
struct Row<'a> {
    model: &'a str,
    tier: &'a str,
    programs: usize,
    failures: &'a [String],
    seconds: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = cache::folder(args.dir.as_deref())?.join("emulation");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let progress = Progress::new()?;
    let runs = match args.architecture {
        Architecture::Aarch64 => aarch64::run(&folder, &progress),
        Architecture::X86 => x86::run(&folder, &progress),
        Architecture::Wasm32 => wasm32::run(&folder, &progress),
    };
    drop(progress);
    let runs = match runs {
        Err(error) if args.or_skip && error.is::<Missing>() => return files::print(&format!("skipped: {error}\n")),
        runs => runs?,
    };
    for run in &runs {
        files::print(&run.lines(args.json)?)?;
    }
    let failed: Vec<_> = runs.iter().filter(|run| !run.failures.is_empty()).map(Run::failure).collect();
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

impl Run {
    /// A line for each tier.
    fn lines(&self, json: bool) -> Result<String> {
        let Self { model: Model { name: model, tested, .. }, programs, failures, .. } = self;
        let mut lines = String::new();
        for tier in *tested {
            if json {
                let seconds = self.time.as_secs_f64();
                lines += &serde_json::to_string(&Row { model, tier, programs: *programs, failures, seconds })?;
                lines.push('\n');
            } else {
                let result = if failures.is_empty() { "passed" } else { "FAILED" };
                lines +=
                    &format!("{model:20} {tier:18} {result}  {programs} programs, {:.0} s\n", self.time.as_secs_f64());
            }
        }
        Ok(lines)
    }

    /// What failed, and where to read of it.
    fn failure(&self) -> String {
        format!("{}: {} failed, see {}", self.model.name, self.failures.join(", "), self.log.display())
    }
}

/// Where a model's log is to be.
fn log(folder: &Path, model: Model) -> Result<PathBuf> {
    let logs = folder.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make the folder {}", logs.display()))?;
    Ok(logs.join(format!("{}.log", model.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(failures: Vec<String>) -> Run {
        let tiers = &["x86-64-v3", "x86-64-v3-avxvnni"];
        let model = Model { name: "arrow_lake", tiers, tested: tiers };
        Run { model, programs: 4, failures, time: Duration::from_millis(2500), log: "logs/arrow_lake.log".into() }
    }

    #[test]
    fn a_line_a_tier() {
        let run = run_of(Vec::new());
        insta::assert_snapshot!(run.lines(false).expect("text") + &run.lines(true).expect("JSON"));
    }

    #[test]
    fn failures_are_named() {
        let run = run_of(vec!["keepq-simd int8".into()]);
        assert!(run.lines(false).expect("text").contains("FAILED"));
        assert_eq!(run.failure(), "arrow_lake: keepq-simd int8 failed, see logs/arrow_lake.log");
    }

    #[test]
    fn models_have_tiers_of_this_version() {
        for model in aarch64::MODELS.iter().chain(&x86::MODELS).chain(&wasm32::MODELS) {
            for tier in model.tiers.iter().chain(model.tested) {
                assert!(keepq_simd::Tier::names().contains(tier), "{} {tier}", model.name);
            }
        }
    }

    /// Each once: nobody would miss one that was left out.
    #[test]
    fn every_tier_is_tested_on_a_model() {
        let mut tested: Vec<_> = aarch64::MODELS.iter().chain(&x86::MODELS).flat_map(|model| model.tested).collect();
        let mut all: Vec<_> = keepq_simd::Tier::names().iter().collect();
        tested.sort_unstable();
        all.sort_unstable();
        assert_eq!(tested, all);
    }
}
