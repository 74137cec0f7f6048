//! One run of one arm, in a process of its own (`xtask bench-arm`, which `bench` starts).

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use keepq_decoder::{Logits, Model, Session};
use keepq_gguf::{Gguf, Source, open_set};
use serde::{Deserialize, Serialize};

use super::arm::{Arm, VARIABLES};
use super::process::{self, Work};
use super::run::{Decoder, Run};
use crate::runtime;

/// The arguments of `bench-arm`; the ids of the prompt come by standard input, as JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long)]
    model: PathBuf,
    /// Tokens to generate
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
    gen_len: u32,
}

/// What a run of an arm tells.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct ArmRun {
    #[serde(flatten)]
    pub(super) run: Run,
    /// The tier that ran.
    pub(super) tier: String,
    /// Bytes of weights that a token is multiplied by.
    pub(super) weight_bytes: u64,
    /// Multiply-adds of weights in the prompt.
    pub(super) prompt_multiply_adds: u64,
}

/// Runs an arm in a process of its own. What the environment asks for beside the arm, such as a tier, reaches it.
pub(super) fn run_apart(work: &Work, arm: Arm) -> Result<ArmRun> {
    let mut command = process::command("bench-arm")?;
    command.arg("--model").arg(&work.model).arg("--gen-len").arg(work.gen_len.to_string());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.envs(arm.variable()).env("KEEPQ_THREADS", work.threads.to_string());
    process::ask(&mut command, &work.prompt)
}

/// Runs the arm that the environment asks for.
pub(crate) fn run(args: &Args) -> Result<()> {
    let prompt = process::prompt()?;
    let gen_len = args.gen_len as usize;
    let settings = runtime::settings(None)?;
    let file = || args.model.display().to_string();

    let start = Instant::now();
    let set = open_set(&args.model, Source::map)?;
    let gguf = set.parse()?;
    let model = Model::load(&gguf, settings.residency()).with_context(file)?;
    let load = start.elapsed();

    let mut session = Session::new(&model, settings.driver(), prompt.len() + gen_len)?;
    let run = Run::measure(load, &mut session, &prompt, gen_len).with_context(file)?;
    let report = model.report();
    process::answer(&ArmRun {
        run,
        tier: settings.driver().tier().name().to_owned(),
        weight_bytes: (report.kept_bytes + report.expanded_bytes) as u64,
        prompt_multiply_adds: multiply_adds(&gguf, prompt.len()),
    })
}

impl Decoder for Session<'_, '_> {
    fn feed(&mut self, tokens: &[u32]) -> Result<&[f32]> {
        Ok(Session::feed(self, tokens, Logits::Last)?)
    }
}

/// Multiply-adds of weights that `tokens` tokens of a prompt take: the layers for each, the head for the last one.
fn multiply_adds(gguf: &Gguf<'_>, tokens: usize) -> u64 {
    let layers = gguf.tensors().iter().filter(|tensor| tensor.name().starts_with("blk.") && tensor.dims().len() == 2);
    let head = gguf.tensor("output.weight").or_else(|| gguf.tensor("token_embd.weight"));
    let per_token: u64 = layers.map(|tensor| tensor.elements()).sum();
    per_token.saturating_mul(tokens as u64).saturating_add(head.map_or(0, |head| head.elements()))
}
