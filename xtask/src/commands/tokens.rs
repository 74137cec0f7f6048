//! `xtask tokens`: the token proof. A model's ids and first choices are those of llama.cpp, and its bits are the same on every
//! tier and number of threads.
//!
//! llama.cpp's ids and logits are stored (`goldens/tokens`). On each prompt the model is teacher-forced with the stored ids, so
//! that every step is compared whatever came before; then it runs free. Where llama.cpp's own builds are apart, its lead may
//! be too small to decide: a choice is excused there, and nowhere else.

mod proof;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_decoder::tokenizer::Tokenizer;
use keepq_decoder::{Model, Settings};
use keepq_gemm::Residency;
use keepq_gguf::{Source, open_set};
use keepq_simd::Tier;

use crate::token_oracle::TokenOracle;
use crate::{files, sha256};
use proof::Prover;
pub(crate) use report::Report;

/// The numbers of threads that are compared.
const THREADS: [usize; 2] = [1, 2];

/// The arguments of `tokens`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The token oracle [default: the one in goldens/tokens that has the model's SHA-256]
    #[arg(long, value_name = "FILE")]
    oracle: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let report = prove(&args.model, args.oracle.as_deref())?;
    files::print(&if args.json { serde_json::to_string(&report)? + "\n" } else { report.to_string() })?;
    report.check()
}

/// Compares the model of the file `model` with `oracle`, or with the oracle that belongs to it.
pub(crate) fn prove(model: &Path, oracle: Option<&Path>) -> Result<Report> {
    let set = open_set(model, Source::map)?;
    let gguf = set.parse()?;
    let sha256 = sha256::of_set(&set);
    let oracle = find_oracle(model, oracle, &sha256)?;
    let file = || model.display().to_string();
    let tokenizer = Tokenizer::from_gguf(&gguf).with_context(file)?;
    let model = Model::load(&gguf, Residency::Keep).with_context(file)?;

    // The best tier comes first: it is the one that the others are compared with.
    let mut runs = Vec::new();
    for tier in Tier::available().into_iter().rev() {
        for threads in THREADS {
            runs.push(Settings::new(tier, threads, Residency::Keep)?);
        }
    }
    let progress = ProgressBar::new(oracle.prompts.len() as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} prompts ({elapsed})")?);
    let prover = Prover { tokenizer: &tokenizer, model: &model, runs: &runs };
    let mut prompts = Vec::new();
    for prompt in &oracle.prompts {
        prompts.push(prover.prove(prompt).with_context(|| format!("prompt {:?}", prompt.prompt))?);
        progress.inc(1);
    }
    Ok(Report {
        model: oracle.model,
        sha256,
        two_builds: oracle.two_builds,
        runs: runs.iter().map(proof::name).collect(),
        prompts,
    })
}

/// The oracle that was asked for, or that belongs to the file `model`.
fn find_oracle(model: &Path, oracle: Option<&Path>, sha256: &str) -> Result<TokenOracle> {
    let Some(path) = oracle else {
        let (_, oracle) =
            TokenOracle::find(&TokenOracle::folder(), sha256).with_context(|| model.display().to_string())?;
        return Ok(oracle);
    };
    let oracle = TokenOracle::read(path)?;
    if let Some(known) = &oracle.sha256 {
        ensure!(
            known == sha256,
            "{} has SHA-256 {sha256}, but {} is of a model with {known}",
            model.display(),
            path.display()
        );
    }
    Ok(oracle)
}
