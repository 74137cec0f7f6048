//! `xtask inspect`: what a GGUF file holds.

mod report;

use std::path::PathBuf;

use anyhow::Result;
use keepq_gguf::Source;

use crate::files;
use report::Report;

/// The arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let source = Source::map(&args.file)?;
    let gguf = source.parse()?;
    let report = Report::new(source.path(), source.as_bytes().len(), &gguf);
    if args.json { files::print(&(serde_json::to_string(&report)? + "\n")) } else { files::print(&report.to_string()) }
}
