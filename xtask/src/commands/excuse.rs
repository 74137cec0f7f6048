//! `xtask excuse`: how far two of llama.cpp's own builds are apart on a model file.
//!
//! Both builds are teacher-forced on the stored ids of a token oracle, with one thread and without
//! repacking. Twice the largest difference of a logit is the *excuse threshold*: where the lead of
//! a first choice is smaller, another decoder may choose otherwise without being wrong.

mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_gguf::{Source, open_set};

use crate::commands::forced_logits::{self, Batching};
use crate::foreign::llama::Cpu;
use crate::sha256;
use crate::token_oracle::{Prompt, TokenOracle, TwoBuilds};
use report::{Build, Difference, PromptReport, Report};

/// The two builds compared: plain SSE2 code, and AVX2 with FMA.
const VARIANTS: [&str; 2] = ["x64", "haswell"];

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
        None => {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("goldens").join("tokens");
            TokenOracle::find(&folder, &sha256).with_context(|| args.model.display().to_string())?
        }
    };
    if let Some(known) = &oracle.sha256 {
        ensure!(
            *known == sha256,
            "{} has SHA-256 {sha256}, but {} is of a model with {known}",
            args.model.display(),
            path.display()
        );
    }

    let report = measure(args, &path, &oracle, sha256)?;
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{report}");
    }
    if args.write {
        report.check()?;
        oracle.sha256 = Some(report.sha256);
        oracle.two_builds = Some(report.two_builds);
        oracle.write(&path)?;
    }
    Ok(())
}

/// Runs both builds on all prompts.
fn measure(args: &Args, path: &Path, oracle: &TokenOracle, sha256: String) -> Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let progress = ProgressBar::new((oracle.prompts.len() * VARIANTS.len()) as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")?);
    let run = |variant: &str, index: usize, out: &Path| {
        progress.set_message(format!("{variant}, prompt {index}"));
        let forced = forced_logits::run_apart(&forced_logits::Args {
            model: args.model.clone(),
            oracle: args.oracle.clone(),
            variant: Cpu::Variant(variant.to_owned()),
            tokens: path.to_owned(),
            prompt: index,
            out: out.to_owned(),
        });
        progress.inc(1);
        forced.with_context(|| format!("{variant}, prompt {index}"))
    };

    let outs = VARIANTS.map(|variant| folder.path().join(variant));
    let mut builds = VARIANTS.map(Build::new);
    let mut prompts = Vec::new();
    let mut max_lead_difference = 0.0_f32;
    for (index, prompt) in oracle.prompts.iter().enumerate() {
        let a = run(VARIANTS[0], index, &outs[0])?;
        let b = run(VARIANTS[1], index, &outs[1])?;
        ensure!(
            (a.positions, a.vocab_size) == (b.positions, b.vocab_size),
            "prompt {index}: the builds have different numbers of logits"
        );
        let [stepped, whole] =
            differences(&outs, a.positions, a.vocab_size).with_context(|| format!("prompt {index}"))?;
        prompts.push(PromptReport { prompt: prompt.prompt.clone(), positions: a.positions, stepped, whole });
        for (a, b) in a.leads.iter().zip(&b.leads) {
            max_lead_difference = max_lead_difference.max((a - b).abs());
        }
        builds[0].add(index, a);
        builds[1].add(index, b);
    }

    let max_logit_difference =
        prompts.iter().flat_map(|prompt| [prompt.stepped.difference, prompt.whole.difference]).fold(0.0, f32::max);
    let excuse_threshold = 2.0 * max_logit_difference;
    let leads = || oracle.prompts.iter().flat_map(Prompt::leads);
    Ok(Report {
        model: oracle.model.clone(),
        sha256,
        two_builds: TwoBuilds {
            variants: VARIANTS.map(str::to_owned),
            max_logit_difference,
            excuse_threshold,
            max_lead_difference,
        },
        steps: leads().count(),
        steps_above_threshold: leads().filter(|&lead| lead > excuse_threshold).count(),
        builds,
        prompts,
    })
}

/// The largest difference between two files of logits, for each [`Batching`].
fn differences(files: &[PathBuf; 2], positions: usize, vocab_size: usize) -> Result<[Difference; Batching::ALL.len()]> {
    let mut a = forced_logits::open(&files[0])?;
    let mut b = forced_logits::open(&files[1])?;
    let (mut row_a, mut row_b) = (vec![0.0; vocab_size], vec![0.0; vocab_size]);
    let mut largest = [Difference::default(); Batching::ALL.len()];
    for largest in &mut largest {
        for position in 0..positions {
            forced_logits::read_row(&mut a, &mut row_a).context("cannot read the logits")?;
            forced_logits::read_row(&mut b, &mut row_b).context("cannot read the logits")?;
            largest.take(position, &row_a, &row_b)?;
        }
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_logits_are_compared_by_batching() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = ["a", "b"].map(|name| folder.path().join(name));
        let write = |file: &PathBuf, logits: &[f32]| {
            let bytes: Vec<u8> = logits.iter().flat_map(|logit| logit.to_le_bytes()).collect();
            std::fs::write(file, bytes).expect("a written file");
        };
        // Two batchings of one position with two ids.
        write(&files[0], &[1.0, 2.0, 3.0, 4.0]);
        write(&files[1], &[1.0, 2.5, 3.25, 4.0]);
        assert_eq!(
            differences(&files, 1, 2).expect("two complete files"),
            [Difference { difference: 0.5, position: 0, id: 1 }, Difference { difference: 0.25, position: 0, id: 0 },]
        );
        assert!(differences(&files, 2, 2).is_err(), "the files are too short");
    }
}
