//! Running the models: the text window by window, then the prompts.

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_decoder::{Logits, Sampler, Session, Settings, generate};
use rayon::prelude::*;

use super::candidates::{Candidate, Kind};
use super::metrics::{Prediction, Spread, perplexity};
use super::texts::Texts;

/// What came of all models.
pub(super) struct Measured {
    /// Of the reference.
    pub(super) perplexity: f64,
    /// One for each candidate.
    pub(super) rows: Vec<Row>,
}

/// What came of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Of the weights that it multiplies by.
    pub(super) bytes: usize,
    pub(super) perplexity: f64,
    /// From the reference's predictions, in nats, over all positions.
    pub(super) divergence: Spread,
    /// Positions at which another token is the likeliest.
    pub(super) flips: usize,
    pub(super) positions: usize,
    /// Prompts that are continued by the very tokens that the reference has.
    pub(super) reproduced: usize,
}

/// What is known of a candidate so far.
#[derive(Default)]
struct Tally {
    surprises: Vec<f64>,
    divergences: Vec<f64>,
    flips: usize,
}

/// A position of one window.
struct Position {
    /// Of the next token, where the window has it.
    surprise: Option<f64>,
    divergence: f64,
    flip: bool,
}

/// Runs the reference and the candidates.
///
/// Windows of `window` tokens follow each other without an overlap, each from an empty context, and every position counts, the first ones with little before them. So all
/// models predict the same tokens from the same contexts, which is what distances need; perplexities are higher than with long contexts.
pub(super) fn measure(
    settings: &Settings,
    reference: &Candidate<'_>,
    candidates: &[Candidate<'_>],
    texts: &Texts,
    window: usize,
    gen_len: usize,
) -> Result<Measured> {
    let models = candidates.len() + 1;
    let progress = ProgressBar::new((models * (texts.ids.len() + texts.prompts.len() * gen_len)) as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} tokens ({elapsed}, {eta} left) {msg}")?);
    let mut known = Vec::new();
    let mut tallies: Vec<Tally> = candidates.iter().map(|_| Tally::default()).collect();
    for ids in texts.ids.chunks(window) {
        progress.set_message(reference.name.clone());
        let logits = texts.logits(settings, reference, ids)?;
        let predictions = predictions(reference, &logits)?;
        for (prediction, &next) in predictions.iter().zip(&ids[1..]) {
            known.push(surprise(prediction, next)?);
        }
        progress.inc(ids.len() as u64);
        for (candidate, tally) in candidates.iter().zip(&mut tallies) {
            progress.set_message(candidate.name.clone());
            let logits = texts.logits(settings, candidate, ids)?;
            tally.add(candidate, &logits, ids, &predictions)?;
            progress.inc(ids.len() as u64);
        }
    }
    let wanted = continued(settings, reference, texts, gen_len, &progress)?;
    let mut rows = Vec::new();
    for (candidate, Tally { surprises, divergences, flips }) in candidates.iter().zip(tallies) {
        let found = continued(settings, candidate, texts, gen_len, &progress)?;
        rows.push(Row {
            name: candidate.name.clone(),
            kind: candidate.kind,
            bytes: candidate.bytes,
            perplexity: perplexity(&surprises),
            positions: divergences.len(),
            divergence: Spread::of(divergences).context("the text is empty")?,
            flips,
            reproduced: found.iter().zip(&wanted).filter(|(found, wanted)| found == wanted).count(),
        });
    }
    progress.finish_and_clear();
    Ok(Measured { perplexity: perplexity(&known), rows })
}

impl Tally {
    /// Adds a window.
    fn add(
        &mut self,
        candidate: &Candidate<'_>,
        logits: &[f32],
        ids: &[u32],
        reference: &[Prediction<'_>],
    ) -> Result<()> {
        let rows = logits.par_chunks_exact(candidate.model.vocabulary()).zip(reference).enumerate();
        let position = |(at, (row, reference)): (usize, (&[f32], &Prediction<'_>))| -> Result<Position> {
            let prediction = Prediction::of(row).with_context(|| not_finite(candidate, at))?;
            Ok(Position {
                surprise: ids.get(at + 1).map(|&next| surprise(&prediction, next)).transpose()?,
                divergence: reference.divergence(&prediction),
                flip: prediction.first() != reference.first(),
            })
        };
        for position in rows.map(position).collect::<Result<Vec<_>>>()? {
            self.surprises.extend(position.surprise);
            self.divergences.push(position.divergence);
            self.flips += usize::from(position.flip);
        }
        Ok(())
    }
}

impl Texts {
    /// The logits after each token of a window.
    fn logits(&self, settings: &Settings, candidate: &Candidate<'_>, ids: &[u32]) -> Result<Vec<f32>> {
        let describe = || candidate.name.clone();
        let ids = [&self.start, ids].concat();
        let mut session = Session::new(&candidate.model, settings.driver(), ids.len()).with_context(describe)?;
        let logits = session.feed(&ids, Logits::All).with_context(describe)?;
        Ok(logits[self.start.len() * candidate.model.vocabulary()..].to_vec())
    }
}

fn predictions<'l>(candidate: &Candidate<'_>, logits: &'l [f32]) -> Result<Vec<Prediction<'l>>> {
    let rows = logits.par_chunks_exact(candidate.model.vocabulary()).enumerate();
    rows.map(|(at, row)| Prediction::of(row).with_context(|| not_finite(candidate, at))).collect()
}

fn not_finite(candidate: &Candidate<'_>, at: usize) -> String {
    format!("{}: position {at} of a window: a logit is not finite", candidate.name)
}

fn surprise(prediction: &Prediction<'_>, next: u32) -> Result<f64> {
    prediction.surprise(next).with_context(|| format!("the vocabulary has no token {next}"))
}

/// The likeliest tokens after each prompt, the end of generation ignored.
fn continued(
    settings: &Settings,
    candidate: &Candidate<'_>,
    texts: &Texts,
    gen_len: usize,
    progress: &ProgressBar,
) -> Result<Vec<Vec<u32>>> {
    progress.set_message(candidate.name.clone());
    let mut continued = Vec::new();
    for prompt in &texts.prompts {
        let capacity = prompt.len() + gen_len;
        let mut session = Session::new(&candidate.model, settings.driver(), capacity)?;
        let ids = generate(&mut session, &mut Sampler::greedy(), prompt, gen_len, |_| true);
        continued.push(ids.with_context(|| candidate.name.clone())?);
        progress.inc(gen_len as u64);
    }
    Ok(continued)
}
