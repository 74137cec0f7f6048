//! `xtask quantize`: writes a model file with its matrices in another type.
//!
//! It does what llama.cpp's `llama-quantize --pure --allow-requantize` does, and writes the same file to the last byte (but
//! for trailing dimensions of 1, which llama.cpp drops): the tensors that it would quantize are decoded and encoded row by
//! row, all to one type (where a row is no whole number of blocks, to its fallback), and the others are copied. So is the
//! metadata, but for the two keys that tell of the type. Of a set of files it makes one.
//!
//! To a form of checkpoints it writes a folder ([`checkpoint`]).
//!
//! What would poison a model is refused, as in llama.cpp, but named: tensor, row and block of an element that is not finite
//! in the source, or would not be in the new type.

pub(crate) mod checkpoint;
pub(crate) mod llama;
mod plan;
mod report;
mod rows;
mod selection;
mod target;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_checkpoint::Recipe;
use keepq_gemm::{Executor, executor_from_env, threads_from_env};
use keepq_gguf::write::{WriteError, Writer};
use keepq_gguf::{Gguf, Source, SourceSet, open_set};

use crate::files::{self, Replacement};
use crate::runtime;
use plan::Plan;
use report::Report;
pub(crate) use target::{Target, To};

/// Codes that share a scale where it is not said.
const GROUP: usize = 64;

/// The version of the block formats, which ggml counts.
const FORMATS_VERSION: u32 = 2;

/// The keys that tell of the type; they come last, as llama.cpp writes them.
const VERSION_KEY: &str = "general.quantization_version";
const FILE_TYPE_KEY: &str = "general.file_type";

/// The keys of a file that is one of several, which the new one is not.
const SPLIT_KEYS: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

/// The arguments of `quantize`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file to read, or any file of a set, or the folder of a checkpoint whose weights are floats
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The type to quantize to; rows that are no whole blocks of it get another one. cpu_int4, gptq, awq, w4a8 and int4 make a checkpoint
    #[arg(long = "type", value_name = "TYPE", value_parser = To::parser(), ignore_case = true)]
    to: To,
    /// Of a checkpoint, codes of a row that share a scale: 32, 64, 128 or 256 [default: 64]
    #[arg(long, value_name = "CODES", value_parser = runtime::group)]
    group: Option<usize>,
    /// Of gptq, awq and w4a8, zero points for each group [default: all are 8]
    #[arg(long)]
    asymmetric: bool,
    /// Of a checkpoint, run the model on this text, and make the errors of each weight good by what it is multiplied by (GPTQ's algorithm)
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
    /// Tokens of that text [default: 4096]
    #[arg(long, value_name = "N", requires = "calibrate")]
    calibrate_tokens: Option<usize>,
    /// Of a checkpoint, leave the head as bf16, tied to the embedding where it is
    #[arg(long)]
    keep_head: bool,
    /// Of a checkpoint, leave the embedding as bf16
    #[arg(long)]
    keep_embedding: bool,
    /// The GGUF file to write, or the folder of the checkpoint, which must not be there
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Threads [default: KEEPQ_THREADS, or as many as the machine has]
    #[arg(long, value_name = "N", value_parser = runtime::thread_count)]
    threads: Option<usize>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// What is left as floats.
    const fn kept_floats(&self) -> checkpoint::KeptFloats {
        checkpoint::KeptFloats { head: self.keep_head, embedding: self.keep_embedding }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let target = match args.to {
        To::Checkpoint(method) => {
            let group = args.group.unwrap_or(GROUP);
            let recipe = Recipe::new(method, group, args.asymmetric).context("nothing to quantize to")?;
            return checkpoint::run(args, recipe);
        }
        To::Gguf(target) => target,
    };
    let of_checkpoints =
        args.group.is_some() || args.asymmetric || args.calibrate.is_some() || args.keep_head || args.keep_embedding;
    ensure!(
        !of_checkpoints,
        "--group, --asymmetric, --calibrate, --keep-head and --keep-embedding are for checkpoints"
    );
    let executor = executor_from_env(args.threads.map_or_else(threads_from_env, Ok)?)?;
    let set = open_set(&args.from, Source::map)?;
    let gguf = set.parse()?;
    let plan = Plan::new(&gguf, target).with_context(|| args.from.display().to_string())?;

    check_place(&set, &args.out)?;
    let mut replacement = Replacement::of(&args.out)?;
    let bytes = write(&gguf, &plan, &*executor, replacement.file()).map_err(|error| {
        let path = if matches!(error, WriteError::Io(_)) { &args.out } else { &args.from };
        anyhow::Error::new(error).context(path.display().to_string())
    })?;
    replacement.finish()?;

    let before: usize = set.sources().iter().map(|source| source.as_bytes().len()).sum();
    let report = Report::new(&plan, (&args.from, before as u64), (&args.out, bytes));
    files::print(&if args.json { serde_json::to_string(&report)? + "\n" } else { report.to_string() })
}

/// Refuses to write over the source, by whatever name, and over what is no file.
fn check_place(set: &SourceSet, out: &Path) -> Result<()> {
    // What cannot be asked for is not there, or cannot be written either, which is said then.
    let Ok(there) = fs::metadata(out) else { return Ok(()) };
    ensure!(there.is_file(), "{} is in the way: it is no file", out.display());
    for source in set.sources() {
        let source = fs::metadata(source.path()).with_context(|| source.path().display().to_string())?;
        let is_source = (there.dev(), there.ino()) == (source.dev(), source.ino());
        ensure!(!is_source, "{} is the source: it is not written over", out.display());
    }
    Ok(())
}

/// Writes the model in another type to `out`: what `quantize` does, from `gguf` in memory.
pub(crate) fn write_as(gguf: &Gguf<'_>, target: Target, executor: &dyn Executor, out: &mut File) -> Result<()> {
    write(gguf, &Plan::new(gguf, target)?, executor, out)?;
    Ok(())
}

/// Writes the file, and gives its length.
fn write(gguf: &Gguf<'_>, plan: &Plan<'_>, executor: &dyn Executor, out: &mut File) -> Result<u64, WriteError> {
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} ({elapsed}) {msg}");
    let progress = ProgressBar::new(plan.bytes())
        .with_finish(ProgressFinish::AndClear)
        .with_style(style.expect("a template without mistakes"));

    let mut writer = Writer::new();
    let is_replaced = |key: &str| SPLIT_KEYS.contains(&key) || [VERSION_KEY, FILE_TYPE_KEY].contains(&key);
    for (key, value) in gguf.metadata().filter(|(key, _)| !is_replaced(key)) {
        writer.put(key, value)?;
    }
    writer.put(VERSION_KEY, FORMATS_VERSION)?;
    writer.put(FILE_TYPE_KEY, plan.target.file_type())?;
    for step in &plan.steps {
        let progress = &progress;
        writer.tensor_with(step.tensor.name(), step.to, step.tensor.dims(), move |out| {
            progress.set_message(step.tensor.name().to_owned());
            rows::write(step, executor, progress, out)
        })?;
    }
    writer.write_to(out)
}
