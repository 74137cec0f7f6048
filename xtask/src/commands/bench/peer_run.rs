//! One run of llama.cpp, in a process of its own (`xtask bench-peer`, which `bench` starts): the libraries can be loaded once a
//! process, and memory is then the run's own.
//!
//! Nothing but the sizes and the weights' layout is set, so that the file is mapped unless `--no-mmap` is given, and a prompt is computed 512 tokens at a time
//! (`n_ubatch`), as llama.cpp does by default.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::first_token::{self, FirstToken};
use super::peer::{Description, Peer, Setting};
use super::process::{self, Work};
use super::run::{Decoder, Run};
use crate::foreign::llama::{Context, ContextOptions, Cpu, Llama, Model, ModelOptions};
use crate::runtime;

/// The arguments of `bench-peer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of llama.cpp's libraries
    #[arg(long)]
    folder: PathBuf,
    /// The CPU backend
    #[arg(long)]
    variant: Cpu,
    /// Without it the build only describes itself
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Generate; the ids of the prompt come by standard input, as JSON
    Generate {
        #[command(flatten)]
        options: Options,
        /// Tokens to generate
        #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
        gen_len: u32,
    },
    /// Tell the first token after a text
    FirstToken {
        #[command(flatten)]
        options: Options,
        /// The text
        #[arg(long)]
        text: String,
    },
}

#[derive(Debug, clap::Args)]
struct Options {
    /// The GGUF file
    #[arg(long)]
    model: PathBuf,
    /// Read the file into memory instead of mapping it
    #[arg(long)]
    no_mmap: bool,
    /// How the weights are kept
    #[arg(long, value_enum)]
    setting: Setting,
    /// Threads
    #[arg(long, value_parser = runtime::thread_count)]
    threads: usize,
}

/// Describes a build in a process of its own.
pub(super) fn describe_apart(folder: &Path, cpu: &Cpu) -> Result<Description> {
    let mut command = process::command("bench-peer")?;
    command.arg("--folder").arg(folder).arg("--variant").arg(cpu.to_string());
    process::ask(&mut command, &[])
}

/// Runs a peer in processes of its own, one for the prompt and one for the first token.
pub(super) fn run_apart(work: &Work, peer: Peer<'_>) -> Result<Run> {
    let mut generate = command(work, peer, "generate")?;
    generate.arg("--gen-len").arg(work.gen_len.to_string());
    let mut first_token = command(work, peer, "first-token")?;
    first_token.arg("--text").arg(&work.text);
    let mut run: Run = process::ask(&mut generate, &work.prompt)?;
    run.first_token = Some(FirstToken::measure(&mut first_token)?);
    Ok(run)
}

/// A process that does a task of a peer.
fn command(work: &Work, peer: Peer<'_>, task: &str) -> Result<Command> {
    let mut command = process::command("bench-peer")?;
    command.arg("--folder").arg(&peer.build.folder).arg("--variant").arg(peer.build.cpu.to_string());
    command.arg(task).arg("--model").arg(&work.model).arg("--setting").arg(peer.setting.name());
    command.arg("--threads").arg(work.threads.to_string()).args(work.no_mmap.then_some("--no-mmap"));
    Ok(command)
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    process::end_with_parent()?;
    let llama = Llama::load(&args.folder, &args.variant)?;
    match &args.task {
        Some(Task::Generate { options, gen_len }) => process::answer(&measure(&llama, options, *gen_len)?),
        Some(Task::FirstToken { options, text }) => first_token(&llama, options, text),
        None => process::answer(&Description {
            version: llama.version(),
            backend: llama.backend().and_then(|file| Some(file.file_name()?.to_string_lossy().into_owned())),
            system_info: llama.system_info(),
        }),
    }
}

fn measure(llama: &Llama, options: &Options, gen_len: u32) -> Result<Run> {
    let prompt = process::prompt()?;
    let start = Instant::now();
    let model = options.model(llama)?;
    let load = start.elapsed();

    let mut context = options.context(&model, prompt.len(), gen_len)?;
    Run::measure(load, &mut context, &prompt, gen_len as usize)
}

fn first_token(llama: &Llama, options: &Options, text: &str) -> Result<()> {
    let model = options.model(llama)?;
    let prompt = model.tokenize(text, true, true)?;
    let mut context = options.context(&model, prompt.len(), 1)?;
    first_token::answer(&mut context, &prompt)
}

impl Options {
    fn model<'l>(&self, llama: &'l Llama) -> Result<Model<'l>> {
        llama.model(&self.model, &ModelOptions { mmap: !self.no_mmap, repack: self.setting == Setting::Repacked })
    }

    /// A context for a prompt of `prompt_len` ids and `gen_len` more.
    fn context<'m>(&self, model: &'m Model<'_>, prompt_len: usize, gen_len: u32) -> Result<Context<'m>> {
        let n_batch = u32::try_from(prompt_len)?;
        let n_threads = u32::try_from(self.threads)?;
        model.context(&ContextOptions { n_ctx: n_batch.saturating_add(gen_len), n_batch, n_threads })
    }
}

impl Decoder for Context<'_> {
    fn feed(&mut self, tokens: &[u32]) -> Result<&[f32]> {
        let last = tokens.len().saturating_sub(1);
        self.decode(tokens, last..tokens.len())?;
        self.logits(last)
    }
}
