//! `xtask excuse`: how far two of llama.cpp's own builds are apart on a model file.
//!
//! Both builds are teacher-forced on the stored ids of a token oracle, with one thread and without
//! repacking. Twice the largest difference of a logit is the *excuse threshold*: where the lead of
//! a first choice is smaller, another decoder may choose otherwise without being wrong.

mod measure;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use keepq_gguf::{Source, open_set};

use crate::token_oracle::TokenOracle;
use crate::{files, sha256};
pub(crate) use measure::{VARIANTS, measure};

/// The arguments of `excuse`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The folder of llama.cpp's prebuilt libraries
    #[arg(long, value_name = "DIR")]
    oracle: PathBuf,
    /// The token oracle [default: the one in goldens/tokens that has the model's SHA-256]
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Store the result in the token oracle, and the model's SHA-256 if it has none
    #[arg(long)]
    write: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let sha256 = sha256::of_set(&open_set(&args.model, Source::map)?);
    let (path, mut oracle) = match &args.tokens {
        Some(path) => (path.clone(), TokenOracle::read(path)?),
        None => TokenOracle::find(&TokenOracle::folder(), &sha256).with_context(|| args.model.display().to_string())?,
    };
    if let Some(known) = &oracle.sha256 {
        ensure!(
            *known == sha256,
            "{} has SHA-256 {sha256}, but {} is of a model with {known}",
            args.model.display(),
            path.display()
        );
    }

    let report = measure(&args.model, &sha256, &args.oracle, &oracle)?;
    files::print(&if args.json { serde_json::to_string(&report)? + "\n" } else { report.to_string() })?;
    if args.write {
        report.check()?;
        oracle.sha256 = Some(sha256);
        oracle.two_builds = Some(report.two_builds);
        oracle.write(&path)?;
    }
    Ok(())
}
