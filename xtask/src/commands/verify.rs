//! `xtask verify`: looks for elements that are not finite, in every block of every tensor.
//!
//! A file with a damaged scale opens like any other, and poisons whatever is computed with it. Here it is named: tensor, row and
//! block. Scales are read, and elements where there are none, by all threads at once; codes are passed over, since none can be wrong.

mod report;
mod scan;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_gemm::{executor_from_env, threads_from_env};
use keepq_gguf::{Source, open_set};

use crate::{files, runtime};
use report::{Report, Speed};
use scan::Scan;

/// The arguments of `verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Threads [default: KEEPQ_THREADS, or as many as the machine has]
    #[arg(long, value_name = "N", value_parser = runtime::thread_count)]
    threads: Option<usize>,
    /// Also measure how much longer it takes than to read all bytes once: each five times in turn, the shortest
    #[arg(long)]
    speed: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How often is measured.
const RUNS: usize = 5;

pub(crate) fn run(args: &Args) -> Result<()> {
    let executor = executor_from_env(args.threads.map_or_else(threads_from_env, Ok)?)?;
    let set = open_set(&args.file, Source::map)?;
    let gguf = set.parse()?;
    let scan = Scan::new(gguf.tensors());

    let progress = ProgressBar::new(scan.bytes())
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} ({elapsed})")?);
    let damage = scan.run(&*executor, |bytes| progress.inc(bytes));
    progress.finish_and_clear();

    let speed = args.speed.then(|| {
        let (mut verified, mut read) = (Duration::MAX, Duration::MAX);
        for _ in 0..RUNS {
            verified = verified.min(time(|| scan.run(&*executor, |_| ())));
            read = read.min(time(|| scan.read(&*executor)));
        }
        Speed::new(verified, read)
    });

    let report = Report::new(&args.file, &scan, &damage, speed);
    files::print(&if args.json { serde_json::to_string(&report)? + "\n" } else { report.to_string() })?;
    match report.summary_of_damage() {
        Some(summary) => bail!("{}: {summary}", args.file.display()),
        None => Ok(()),
    }
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let _result = work();
    start.elapsed()
}
