//! `xtask inspect`: what a GGUF file holds.

mod report;

use std::path::PathBuf;

use anyhow::Result;
use keepq_gguf::{Source, open_set};

use crate::files;
use report::Report;

/// The arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let set = open_set(&args.file, Source::map)?;
    let gguf = set.parse()?;
    let report = Report::new(&args.file, &set, &gguf);
    if args.json { files::print(&(serde_json::to_string(&report)? + "\n")) } else { files::print(&report.to_string()) }
}
