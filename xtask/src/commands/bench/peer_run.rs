//! One run of llama.cpp, in a process of its own (`xtask bench-peer`, which `bench` starts): the libraries can be loaded once a
//! process, and memory is then the run's own.
//!
//! Nothing but the sizes and the weights' layout is set, so that the file is mapped, and a prompt is computed 512 tokens at a time
//! (`n_ubatch`), as llama.cpp does by default.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

use super::peer::{Description, Peer, Setting};
use super::process::{self, Work};
use super::run::{Decoder, Run};
use crate::foreign::llama::{Context, ContextOptions, Cpu, Llama, ModelOptions};
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
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
struct Generate {
    /// The GGUF file
    #[arg(long)]
    model: PathBuf,
    /// How the weights are kept
    #[arg(long, value_enum)]
    setting: Setting,
    /// Threads
    #[arg(long, value_parser = runtime::thread_count)]
    threads: usize,
    /// Tokens to generate
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
    gen_len: u32,
}

/// Describes a build in a process of its own.
pub(super) fn describe_apart(folder: &Path, cpu: &Cpu) -> Result<Description> {
    let mut command = process::command("bench-peer")?;
    command.arg("--folder").arg(folder).arg("--variant").arg(cpu.to_string());
    process::ask(&mut command, &[])
}

/// Runs a peer in a process of its own.
pub(super) fn run_apart(work: &Work, peer: Peer<'_>) -> Result<Run> {
    let mut command = process::command("bench-peer")?;
    command.arg("--folder").arg(&peer.build.folder).arg("--variant").arg(peer.build.cpu.to_string());
    command.arg("generate").arg("--model").arg(&work.model).arg("--setting").arg(peer.setting.name());
    command.arg("--threads").arg(work.threads.to_string()).arg("--gen-len").arg(work.gen_len.to_string());
    process::ask(&mut command, &work.prompt)
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let llama = Llama::load(&args.folder, &args.variant)?;
    match &args.task {
        Some(Task::Generate(task)) => process::answer(&measure(&llama, task)?),
        None => process::answer(&Description {
            version: llama.version(),
            backend: llama.backend().and_then(|file| Some(file.file_name()?.to_string_lossy().into_owned())),
            system_info: llama.system_info(),
        }),
    }
}

fn measure(llama: &Llama, task: &Generate) -> Result<Run> {
    let prompt = process::prompt()?;
    let start = Instant::now();
    let model = llama.model(&task.model, &ModelOptions { mmap: true, repack: task.setting == Setting::Repacked })?;
    let load = start.elapsed();

    let n_batch = u32::try_from(prompt.len())?;
    let mut context = model.context(&ContextOptions {
        n_ctx: n_batch.saturating_add(task.gen_len),
        n_batch,
        n_threads: u32::try_from(task.threads)?,
    })?;
    Run::measure(load, &mut context, &prompt, task.gen_len as usize)
}

impl Decoder for Context<'_> {
    fn feed(&mut self, tokens: &[u32]) -> Result<&[f32]> {
        let last = tokens.len().saturating_sub(1);
        self.decode(tokens, last..tokens.len())?;
        self.logits(last)
    }
}
