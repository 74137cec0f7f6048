//! [`measure`]: both builds on all prompts, each in processes of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::report::{Build, Difference, PromptReport, Report};
use crate::commands::forced_logits::{self, Batching};
use crate::foreign::llama::Cpu;
use crate::interrupt::RemovedOnInterrupt;
use crate::token_oracle::{Prompt, TokenOracle, TwoBuilds};

/// The two builds compared: plain SSE2 code, and AVX2 with FMA.
pub(crate) const VARIANTS: [&str; 2] = ["x64", "haswell"];

/// Runs both builds of `libraries` on all prompts of `oracle`, which is of the file `model` with this SHA-256.
pub(crate) fn measure(model: &Path, sha256: &str, libraries: &Path, oracle: &TokenOracle) -> Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let _interrupt = RemovedOnInterrupt::new(folder.path());
    let tokens = folder.path().join("tokens.json");
    oracle.write(&tokens)?;
    let progress = ProgressBar::new((oracle.prompts.len() * VARIANTS.len()) as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")?);
    let run = |variant: &str, index: usize, out: &Path| {
        progress.set_message(format!("{variant}, prompt {index}"));
        let forced = forced_logits::run_apart(&forced_logits::Args {
            model: model.to_owned(),
            oracle: libraries.to_owned(),
            variant: Cpu::Variant(variant.to_owned()),
            tokens: tokens.clone(),
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
        sha256: sha256.to_owned(),
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
