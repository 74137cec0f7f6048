//! `xtask bench`: time to the first token, time per further token, memory, for the arms before, after and oracle.
//!
//! Every run is a process of its own, so that its memory is its own; the arms take turns, so that a machine that gets slower
//! meanwhile is no one's advantage. The tokens are compared: before must be the oracle's to the bit, after may differ where the
//! oracle itself can hardly decide.

mod arm;
mod compare;
mod limits;
mod machine;
pub(crate) mod process;
mod prompt;
mod report;
mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_decoder::Config;
use keepq_decoder::tokenizer::Tokenizer;
use keepq_gemm::threads_from_env;
use keepq_gguf::{Gguf, Source, open_set};

use crate::files::{self, Replacement};
use crate::token_oracle::TokenOracle;
use crate::{cache, runtime, sha256, synth};
use arm::Arm;
use compare::Comparison;
use limits::Limits;
use machine::Machine;
use process::Work;
use report::Report;
use summary::Summary;

/// The arguments of `bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An arm to run, given once for each [default: all]
    #[arg(long = "arm", value_name = "ARM", value_enum)]
    arms: Vec<Arm>,
    /// The GGUF file, or any file of a set [default: a small one of this project's own, made in the cache]
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Threads [default: KEEPQ_THREADS, or as many as the machine has]
    #[arg(long, value_name = "N", value_parser = runtime::thread_count)]
    threads: Option<usize>,
    /// Tokens of the prompt
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    prompt_len: u32,
    /// Tokens to generate, the end of generation ignored
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..))]
    gen_len: u32,
    /// Runs of each arm
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
    /// Write the ids as JSON, by arm; `jq '.after[]' FILE | md5sum` is that arm's MD5
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    /// Print JSON, a line an arm
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let threads = args.threads.map_or_else(threads_from_env, Ok)?;
    let model = match &args.model {
        Some(path) => path.clone(),
        None => synth::file_in(&cache::folder(None)?)?,
    };
    let set = open_set(&model, Source::map)?;
    let prompt = prompt(args, &model, &set.parse()?)?;
    // This also brings the files into the page cache, for every arm alike.
    let sha256 = sha256::of_set(&set);
    drop(set);
    let work = Work { threads, prompt, gen_len: args.gen_len as usize, model };
    let excuse_threshold = excuse_threshold(&sha256)?;
    // Before anything runs, since a path that cannot be written to need not wait for that.
    let ids = args.ids.as_deref().map(Replacement::of).transpose()?;
    let arms = if args.arms.is_empty() { Arm::ALL.to_vec() } else { distinct(&args.arms) };

    let machine = Machine::now();
    let summaries = measure(&work, &arms, args.reps)?;
    let before = summaries.iter().find(|summary| summary.arm == Arm::Before);
    let limits = before.map(|before| Limits::measure(threads, before.weight_bytes));
    let machine = machine.and_after();

    if let Some(file) = ids {
        file.write(ids_json(&work, &summaries)?.as_bytes())?;
    }
    let report = Report {
        model: args.model.as_ref().map_or_else(|| "synthetic".to_owned(), |path| path.display().to_string()),
        comparison: Comparison::new(&summaries, excuse_threshold),
        sha256,
        reps: args.reps,
        work: &work,
        machine,
        limits,
        summaries,
    };
    files::print(&if args.json { report.json()? } else { report.to_string() })?;
    report.check()
}

/// The ids of the prompt, after what can be checked before anything runs.
fn prompt(args: &Args, model: &Path, gguf: &Gguf<'_>) -> Result<Vec<u32>> {
    let file = || model.display().to_string();
    let context = Config::from_gguf(gguf).with_context(file)?.context;
    let (prompt_len, gen_len) = (args.prompt_len as usize, args.gen_len as usize);
    ensure!(
        prompt_len.saturating_add(gen_len) <= context,
        "{prompt_len} tokens of prompt and {gen_len} to generate are more than the model's context of {context}"
    );
    prompt::ids(&Tokenizer::from_gguf(gguf).with_context(file)?, prompt_len).with_context(file)
}

/// The arms in the order given, each once.
fn distinct(arms: &[Arm]) -> Vec<Arm> {
    let mut distinct = Vec::new();
    for arm in arms {
        if !distinct.contains(arm) {
            distinct.push(*arm);
        }
    }
    distinct
}

/// Runs all arms, taking turns.
fn measure(work: &Work, arms: &[Arm], reps: u32) -> Result<Vec<Summary>> {
    let progress = ProgressBar::new(u64::from(reps) * arms.len() as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} runs ({elapsed}) {msg}")?);
    let mut runs = vec![Vec::new(); arms.len()];
    for rep in 1..=reps {
        for (arm, runs) in arms.iter().zip(&mut runs) {
            progress.set_message(format!("{arm}, run {rep} of {reps}"));
            runs.push(process::run_apart(work, *arm).with_context(|| format!("arm {arm}"))?);
            progress.inc(1);
        }
    }
    arms.iter().zip(runs).map(|(arm, runs)| Summary::new(*arm, work, runs)).collect()
}

/// The threshold of the model file, where it has been measured.
fn excuse_threshold(sha256: &str) -> Result<Option<f32>> {
    let known = TokenOracle::find_if_known(&TokenOracle::folder(), sha256)?;
    Ok(known.and_then(|(_, oracle)| oracle.two_builds).map(|two_builds| two_builds.excuse_threshold))
}

/// The ids of the prompt, and those of each arm by its name.
fn ids_json(work: &Work, summaries: &[Summary]) -> Result<String> {
    let mut ids = BTreeMap::from([("prompt", &work.prompt)]);
    ids.extend(summaries.iter().map(|summary| (summary.arm.name(), &summary.ids)));
    Ok(serde_json::to_string(&ids)? + "\n")
}
