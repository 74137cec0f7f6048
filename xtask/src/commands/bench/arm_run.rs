//! One run of one arm, in a process of its own (`xtask bench-arm`, which `bench` starts).

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use keepq_decoder::tokenizer::Special;
use keepq_decoder::{Logits, Profile, Session};
use keepq_tinygemm::select::Policy;
use serde::{Deserialize, Serialize};

use super::arm::{Arm, VARIABLES};
use super::first_token::{self, FirstToken};
use super::multiply_adds::MultiplyAdds;
use super::process::{self, Work};
use super::run::{Decoder, Run};
use crate::model_files::{self, Contents, Held, ModelFiles};
use crate::runtime;

/// The arguments of `bench-arm`; the ids of the prompt come by standard input, as JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set, or the folder of a checkpoint
    #[arg(long)]
    model: PathBuf,
    /// The 4-bit path of a checkpoint
    #[arg(long, value_parser = model_files::policy)]
    path: Option<Policy>,
    /// Read the file into memory instead of mapping it
    #[arg(long)]
    no_mmap: bool,
    /// Tokens to generate
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..), required_unless_present = "first_token")]
    gen_len: Option<u32>,
    /// Only tell the first token after this text
    #[arg(long, value_name = "TEXT", conflicts_with = "gen_len")]
    first_token: Option<String>,
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
    /// The multiply-adds of the prompt.
    pub(super) prompt_multiply_adds: MultiplyAdds,
}

/// Runs an arm in processes of its own, one for the prompt and one for the first token. What the environment asks for beside the arm, such as a tier, reaches it.
pub(super) fn run_apart(work: &Work, arm: Arm) -> Result<ArmRun> {
    let mut generate = command(work, arm)?;
    generate.arg("--gen-len").arg(work.gen_len.to_string());
    let mut first_token = command(work, arm)?;
    first_token.arg("--first-token").arg(&work.text);
    let mut run: ArmRun = process::ask(&mut generate, &work.prompt)?;
    run.run.first_token = Some(FirstToken::measure(&mut first_token)?);
    Ok(run)
}

/// A process that runs an arm.
fn command(work: &Work, arm: Arm) -> Result<Command> {
    let mut command = process::command("bench-arm")?;
    command.arg("--model").arg(&work.model).args(work.no_mmap.then_some("--no-mmap"));
    if let Some(policy) = arm.policy() {
        command.args(["--path", policy.name()]);
    }
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.envs(arm.variable()).env("KEEPQ_THREADS", work.threads.to_string());
    Ok(command)
}

/// Runs the arm that the environment asks for, as [`run_apart`] asks.
pub(crate) fn run(args: &Args) -> Result<()> {
    process::end_with_parent()?;
    match &args.first_token {
        Some(text) => first_token(args, text),
        None => generate(args, &process::prompt()?, args.gen_len.unwrap_or_default() as usize),
    }
}

/// Tells the first token after a text.
fn first_token(args: &Args, text: &str) -> Result<()> {
    let settings = runtime::settings(None)?;
    let file = || args.model.display().to_string();
    let files = ModelFiles::open(&args.model, args.no_mmap)?;
    let contents = files.parse()?;
    let held = Held { residency: settings.residency(), policy: args.path };
    let (model, _) = contents.load(held).with_context(file)?;
    let prompt = contents.tokenizer()?.encode(text, Special::Parse).with_context(file)?;
    let mut session = Session::new(&model, settings.driver(), prompt.len() + 1)?;
    first_token::answer(&mut session, &prompt).with_context(file)
}

/// Runs the prompt and the tokens after it.
fn generate(args: &Args, prompt: &[u32], gen_len: usize) -> Result<()> {
    let settings = runtime::settings(None)?;
    let file = || args.model.display().to_string();

    let start = Instant::now();
    let files = ModelFiles::open(&args.model, args.no_mmap)?;
    let contents = files.parse()?;
    let held = Held { residency: settings.residency(), policy: args.path };
    let (model, selection) = contents.load(held).with_context(file)?;
    let load = start.elapsed();

    let mut session = Session::new(&model, settings.driver(), prompt.len() + gen_len)?.profiled();
    let run = Run::measure(load, &mut session, prompt, gen_len).with_context(file)?;
    let report = model.report();
    process::answer(&ArmRun {
        run,
        tier: settings.driver().tier().to_string(),
        weight_bytes: (report.kept_bytes + report.expanded_bytes + report.converted_bytes) as u64,
        prompt_multiply_adds: match (&contents, &selection) {
            (Contents::Gguf(_, gguf), _) => MultiplyAdds::of_prompt(gguf, report, prompt.len()),
            (_, selection) => MultiplyAdds::of_checkpoint(&model, selection.as_ref(), prompt.len()),
        },
    })
}

impl Decoder for Session<'_, '_> {
    fn feed(&mut self, tokens: &[u32]) -> Result<&[f32]> {
        Ok(Session::feed(self, tokens, Logits::Last)?)
    }

    fn take_profile(&mut self) -> Option<Profile> {
        Session::take_profile(self)
    }
}
