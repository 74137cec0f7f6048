//! `xtask emulate`: the tests of the kernels on processors that this machine is not.
//!
//! What emulates them are Debian's packages, unpacked into a folder of the cache; nothing is installed. AArch64's processors are those of QEMU, which
//! runs programs; those of x86-64 are Bochs's, which runs a machine with a kernel of its own. Only results are judged: an emulator's time says
//! nothing.

mod aarch64;
mod bochs;
mod cpio;
pub(super) mod packages;
mod programs;
pub(super) mod toolchain;
mod x86;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde::Serialize;

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
    /// The folder to keep the emulators in, in its part "emulation" [default: KEEPQ_CACHE, $XDG_CACHE_HOME/keepq or ~/.cache/keepq]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What is emulated.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Architecture {
    Aarch64,
    X86,
}

/// A processor, and the tiers that it has beside the portable one, by which the tests know that it is what it should be.
#[derive(Clone, Copy, Debug)]
struct Model {
    name: &'static str,
    tiers: &'static [&'static str],
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
        Architecture::Aarch64 => aarch64::run(&folder, &progress)?,
        Architecture::X86 => x86::run(&folder, &progress)?,
    };
    drop(progress);
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
        let Self { model: Model { name: model, tiers }, programs, failures, .. } = self;
        let mut lines = String::new();
        for tier in *tiers {
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

/// A spinner on standard error that says what is being done.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Result<Self> {
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")?;
        let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Ok(Self(bar))
    }

    pub(super) fn say(&self, message: impl Into<String>) {
        self.0.set_message(message.into());
    }
}

/// Runs the tests on all models, as many at once as this machine has processors.
fn on_each(models: &[Model], progress: &Progress, test: impl Fn(Model) -> Result<Run> + Sync) -> Result<Vec<Run>> {
    use rayon::prelude::*;

    progress.say(format!("testing on {}", models.iter().map(|model| model.name).collect::<Vec<_>>().join(", ")));
    models.par_iter().with_max_len(1).map(|model| test(*model)).collect()
}

/// Begins a model's log.
fn log(folder: &Path, model: Model) -> Result<(Instant, PathBuf)> {
    let logs = folder.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make the folder {}", logs.display()))?;
    Ok((Instant::now(), logs.join(format!("{}.log", model.name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(failures: Vec<String>) -> Run {
        let model = Model { name: "arrow_lake", tiers: &["x86-64-v3", "x86-64-v3-avxvnni"] };
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
        for model in aarch64::MODELS.iter().chain(&x86::MODELS) {
            for tier in model.tiers {
                assert!(keepq_simd::Tier::names().contains(tier), "{} {tier}", model.name);
            }
        }
    }
}
