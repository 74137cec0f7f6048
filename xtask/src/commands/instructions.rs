//! `xtask instructions`: how many instructions the kernels take, as callgrind counts them, beside the counts that are stored.
//!
//! Times depend on the machine and on who else uses it; a count does not, so that a kernel whose accumulators have left the registers,
//! or a call that is no longer inlined, is found by a test. One process runs every case under callgrind, which writes the count of each
//! call of a counted function to a file of its own.

mod callgrind;
mod cases;
mod compare;
pub(crate) mod counted;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::files;
use report::Report;

/// The arguments of `instructions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Store what is counted in place of the counts that are stored
    #[arg(long)]
    bless: bool,
    /// Print JSON, a line a case
    #[arg(long)]
    json: bool,
}

/// Counts by the name of the case.
type Counts = BTreeMap<String, u64>;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        !cfg!(debug_assertions),
        "this build checks overflows: count the instructions of `cargo xtask instructions`"
    );
    let Some(measured) = callgrind::measure()? else {
        return files::print("skipped: there is no valgrind to count with\n");
    };
    let path = path();
    let stored = read(&path)?;
    if args.bless {
        // Tiers that this machine, or valgrind, does not have keep their counts.
        let kept = stored.into_iter().filter(|(name, _)| cases::is_out_of_reach(name));
        let all: Counts = kept.chain(measured.iter().map(|case| (case.name(), case.count))).collect();
        return files::write(&path, (serde_json::to_string_pretty(&all)? + "\n").as_bytes());
    }
    let report = Report::new(&measured, &stored);
    files::print(&if args.json { report.json()? } else { report.to_string() })?;
    report.check()
}

/// The file of the stored counts.
fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("benches").join("instructions.json")
}

/// The stored counts; none where there is no file yet.
fn read(path: &Path) -> Result<Counts> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Counts::new()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}
