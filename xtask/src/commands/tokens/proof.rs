//! [`Prover`]: one prompt after another, against what is stored of llama.cpp.

use anyhow::{Context, Result, ensure};
use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_decoder::{Logits, Model, Sampler, Session, Settings, argmax, generate};
use keepq_goldens::Output;
use serde::Serialize;

use crate::token_oracle::Prompt;

/// What proofs are made with.
pub(super) struct Prover<'p> {
    pub(super) tokenizer: &'p Tokenizer<'p>,
    pub(super) model: &'p Model<'p>,
    /// Tiers and numbers of threads; the first one is compared with the oracle, the others with it.
    pub(super) runs: &'p [Settings],
}

/// What came of a prompt.
#[derive(Debug, Serialize)]
pub(super) struct PromptProof {
    pub(super) prompt: String,
    /// Ids of the prompt.
    pub(super) prompt_ids: usize,
    /// Whether they are llama.cpp's.
    pub(super) prompt_ids_equal: bool,
    /// Steps that are stored: greedy ids.
    pub(super) steps: usize,
    /// Teacher-forced steps at which another id was chosen.
    pub(super) other_choices: Vec<OtherChoice>,
    /// Ids that were equal when the model ran free, before the first that was not.
    pub(super) free_running_equal: usize,
    /// The stored lead of the first id that was not equal.
    pub(super) free_running_lead: Option<f32>,
    /// The largest distance from one of the stored five logits of a step.
    pub(super) stored_difference: f32,
    /// Of the logits of all positions, teacher-forced.
    pub(super) logits_md5: String,
    /// Runs whose logits had other bits.
    pub(super) other_bits: Vec<String>,
}

/// A step at which llama.cpp's first choice is not the first here.
#[derive(Debug, Serialize)]
pub(super) struct OtherChoice {
    /// Index into the greedy ids.
    pub(super) step: usize,
    pub(super) stored: u32,
    pub(super) chosen: u32,
    /// The stored lead of `stored` over the second choice.
    pub(super) stored_lead: f32,
}

impl Prover<'_> {
    /// Goes through one prompt.
    pub(super) fn prove(&self, stored: &Prompt) -> Result<PromptProof> {
        let ids = self.tokenizer.encode(&stored.prompt, Special::Parse)?;
        let (first, others) = self.runs.split_first().context("there is no tier")?;
        let logits = self.forced(first, stored)?;
        let vocabulary = self.model.vocabulary();
        // The logits of the prompt's last id choose the first greedy id.
        let steps: Vec<_> = logits.chunks_exact(vocabulary).skip(stored.prompt_ids.len() - 1).collect();
        let logits_md5 = Output::of_floats(&logits).md5();

        let mut other_bits = Vec::new();
        for run in others {
            if Output::of_floats(&self.forced(run, stored)?).md5() != logits_md5 {
                other_bits.push(name(run));
            }
        }
        let free_running_equal = self.free_running_equal(first, stored)?;
        Ok(PromptProof {
            prompt: stored.prompt.clone(),
            prompt_ids: stored.prompt_ids.len(),
            prompt_ids_equal: ids == stored.prompt_ids,
            steps: stored.greedy_ids.len(),
            other_choices: other_choices(&steps, stored)?,
            free_running_equal,
            free_running_lead: stored.leads().nth(free_running_equal),
            stored_difference: stored_difference(&steps, stored)?,
            logits_md5,
            other_bits,
        })
    }

    /// The logits of all positions, each with llama.cpp's ids before it.
    fn forced(&self, run: &Settings, stored: &Prompt) -> Result<Vec<f32>> {
        let (_, before_last) = stored.greedy_ids.split_last().context("greedy_ids is empty")?;
        let ids = [&stored.prompt_ids, before_last].concat();
        let mut session = Session::new(self.model, run.driver(), ids.len())?;
        let logits = session.feed(&ids, Logits::All).with_context(|| name(run))?;
        Ok(logits.to_vec())
    }

    /// Generates greedily, and counts the ids that are llama.cpp's.
    fn free_running_equal(&self, run: &Settings, stored: &Prompt) -> Result<usize> {
        let (prompt, wanted) = (&stored.prompt_ids, &stored.greedy_ids);
        let mut session = Session::new(self.model, run.driver(), prompt.len() + wanted.len())?;
        let ids = generate(&mut session, &mut Sampler::greedy(), prompt, wanted.len(), |_| true)?;
        Ok(ids.iter().zip(wanted).take_while(|(id, wanted)| id == wanted).count())
    }
}

/// The run's tier and number of threads.
pub(super) fn name(run: &Settings) -> String {
    let driver = run.driver();
    format!("{}/{}", driver.tier(), driver.executor().threads())
}

/// The steps at which the first choice is not the stored one.
fn other_choices(steps: &[&[f32]], stored: &Prompt) -> Result<Vec<OtherChoice>> {
    let mut others = Vec::new();
    for (step, ((logits, &id), lead)) in steps.iter().zip(&stored.greedy_ids).zip(stored.leads()).enumerate() {
        let chosen = argmax(logits).with_context(|| format!("step {step}: all logits are NaN"))?;
        if chosen != id {
            others.push(OtherChoice { step, stored: id, chosen, stored_lead: lead });
        }
    }
    Ok(others)
}

/// The largest distance from a stored logit.
fn stored_difference(steps: &[&[f32]], stored: &Prompt) -> Result<f32> {
    let mut largest = 0.0_f32;
    for (step, (logits, top)) in steps.iter().zip(&stored.top5).enumerate() {
        for &(id, wanted) in top {
            let logit = logits.get(id as usize).with_context(|| format!("step {step}: the model has no id {id}"))?;
            let difference = (logit - wanted).abs();
            ensure!(difference.is_finite(), "step {step}: the logit of id {id} is {logit}");
            largest = largest.max(difference);
        }
    }
    Ok(largest)
}
