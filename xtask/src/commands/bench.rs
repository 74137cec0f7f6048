//! `xtask bench`: time to the first token, time per further token, memory, for the arms before, after and oracle, and for
//! llama.cpp's own libraries beside them.
//!
//! Every run is a process of its own, so that its memory is its own; arms and peers take turns, so that a machine that gets slower
//! meanwhile is no one's advantage. The tokens are compared: before must be the oracle's to the bit, after may differ where the
//! oracle itself can hardly decide.

mod arm;
pub(crate) mod arm_run;
mod compare;
#[cfg(test)]
mod example;
mod first_token;
pub(crate) mod gate;
pub(crate) mod kernels;
mod limits;
mod machine;
mod multiply_adds;
mod peer;
pub(crate) mod peer_run;
pub(crate) mod plot;
pub(crate) mod process;
mod processor;
mod profile;
mod prompt;
mod ratio;
mod report;
mod run;
mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_gemm::threads_from_env;
use keepq_tinygemm::select::Policy;

use crate::files::{self, Replacement};
use crate::foreign::llama::Cpu;
use crate::model_files::ModelFiles;
use crate::token_oracle::TokenOracle;
use crate::{cache, runtime, sha256, synth};
use arm::Arm;
use arm_run::ArmRun;
use compare::Comparison;
use limits::Limits;
use machine::Machine;
use peer::{Build, Peer, Setting};
use process::Work;
use report::Report;
use run::Run;
use summary::{ArmSummary, PeerSummary};

/// The arguments of `bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An arm to run, given once for each [default: before, after, oracle]
    #[arg(long = "arm", value_name = "ARM", value_enum)]
    arms: Vec<Arm>,
    /// The GGUF file, or any file of a set, or the folder of a checkpoint [default: a small one of this project's own, made in the
    /// cache]
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Threads [default: KEEPQ_THREADS, or as many as the machine has; with --kernels, 1]
    #[arg(long, value_name = "N", value_parser = runtime::thread_count)]
    threads: Option<usize>,
    /// Read the file into memory instead of mapping it, in the arms and in the peers
    #[arg(long)]
    no_mmap: bool,
    /// Tokens of the prompt
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    prompt_len: u32,
    /// Tokens to generate, the end of generation ignored
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..))]
    gen_len: u32,
    /// A folder of llama.cpp's libraries, to run them beside the arms; given again for another build
    #[arg(long = "peer", value_name = "DIR")]
    peers: Vec<PathBuf>,
    /// The peer's CPU backend, such as haswell, or best; given once for all peers or once for each [default: best]
    #[arg(long = "peer-variant", value_name = "NAME", requires = "peers")]
    peer_variants: Vec<Cpu>,
    /// Runs of each arm and of each setting of a peer, up to three times as many where others had the processor; with --kernels, turns
    /// of each side [default: 3; with --kernels, 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reps: Option<u32>,
    /// Write the ids as JSON, by arm and peer; `jq '.after[]' FILE | md5sum` is that arm's MD5
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    /// Print JSON, a line an arm and a line a setting of a peer; with --kernels, a line a row
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kernels: kernels::Options,
}

/// Runs of each arm where it is not said.
const REPS: u32 = 3;

/// Runs that did not get the processor are made again, until there are so many times as many runs as were asked for.
const MOST: u32 = 3;

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.kernels.kernels {
        let builds = &Build::describe_all(&args.peers, &args.peer_variants)?;
        let &Args { threads, reps, json, .. } = args;
        return kernels::run(&args.kernels, &kernels::Shared { threads, reps, builds, json });
    }
    let reps = args.reps.unwrap_or(REPS);
    let threads = args.threads.map_or_else(threads_from_env, Ok)?;
    let arms = arms_of(args)?;
    let of_paths = arms.iter().any(|arm| arm.policy().is_some());
    let model = match &args.model {
        Some(path) => path.clone(),
        None if of_paths => synth::checkpoint_in(&cache::folder(None)?)?,
        None => synth::file_in(&cache::folder(None)?)?,
    };
    let files = ModelFiles::open(&model, false)?;
    ensure!(
        of_paths == matches!(files, ModelFiles::Checkpoint { .. }),
        "{}: arms are those of GGUF files, --path is for checkpoints, which are folders",
        model.display()
    );
    let Texts { prompt, short: text } = Texts::of(&model, &files, args.prompt_len, args.gen_len)?;
    // This also brings the files into the page cache, for every arm alike.
    let sha256 = sha256::of_sources(files.sources());
    // Of a set, llama.cpp opens no file but the first.
    let model = files.path();
    drop(files);
    let work = Work { no_mmap: args.no_mmap, threads, prompt, text, gen_len: args.gen_len as usize, model };
    let builds = Build::describe_all(&args.peers, &args.peer_variants)?;
    let excuse_threshold = excuse_threshold(&sha256)?;
    // Before anything runs, since a path that cannot be written to need not wait for that.
    let ids = args.ids.as_deref().map(Replacement::of).transpose()?;

    let peers: Vec<_> = builds.iter().flat_map(|build| Setting::ALL.map(|setting| Peer { build, setting })).collect();

    let machine = Machine::now();
    let (arms, peers) = measure(&work, &arms, &peers, reps)?;
    let measured = arms.iter().filter(|summary| summary.arm != Arm::Oracle);
    let limits = measured.map(|summary| (summary.arm, Limits::measure(threads, summary.weight_bytes))).collect();
    let machine = machine.and_after();

    if let Some(file) = ids {
        file.write(ids_json(&work, &arms, &peers)?.as_bytes())?;
    }
    let report = Report {
        model: args.model.as_ref().map_or_else(|| "synthetic".to_owned(), |path| path.display().to_string()),
        comparison: Comparison::new(&arms, excuse_threshold),
        sha256,
        reps,
        work: &work,
        machine,
        limits,
        arms,
        builds: &builds,
        peers,
    };
    files::print(&if args.json { report.json()? } else { report.to_string() })?;
    report.check()
}

/// What is fed to a model.
struct Texts {
    /// The ids of the prompt.
    prompt: Vec<u32>,
    /// The text for the first token.
    short: String,
}

impl Texts {
    /// Those for a model, after what can be checked before anything runs.
    fn of(model: &Path, files: &ModelFiles, prompt_len: u32, gen_len: u32) -> Result<Self> {
        let file = || model.display().to_string();
        let contents = files.parse()?;
        let context = contents.config().with_context(file)?.context;
        let (prompt_len, gen_len) = (prompt_len as usize, gen_len as usize);
        ensure!(
            prompt_len.saturating_add(gen_len) <= context,
            "{prompt_len} tokens of prompt and {gen_len} to generate are more than the model's context of {context}"
        );
        let tokenizer = contents.tokenizer().with_context(file)?;
        let prompt = prompt::ids(&tokenizer, prompt_len).with_context(file)?;
        let short = first_token::text(&tokenizer, prompt::TEXT).with_context(file)?.to_owned();
        Ok(Self { prompt, short })
    }
}

/// The arms that are asked for, or the paths.
fn arms_of(args: &Args) -> Result<Vec<Arm>> {
    let paths = args.kernels.policies();
    ensure!(paths.is_empty() || args.arms.is_empty(), "--arm is for GGUF files, --path for checkpoints");
    Ok(if !paths.is_empty() {
        distinct(&paths.iter().copied().map(Arm::Path).collect::<Vec<_>>())
    } else if !args.arms.is_empty() {
        distinct(&args.arms)
    } else if args.model.as_ref().is_some_and(|model| model.is_dir()) {
        vec![Arm::Path(Policy::default())]
    } else {
        Arm::DEFAULT.to_vec()
    })
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

/// Runs all arms and peers, taking turns; then those again of whose runs too few had the processor.
fn measure<'b>(
    work: &Work,
    arms: &[Arm],
    peers: &[Peer<'b>],
    reps: u32,
) -> Result<(Vec<ArmSummary>, Vec<PeerSummary<'b>>)> {
    let progress = ProgressBar::new(u64::from(reps) * (arms.len() + peers.len()) as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} runs ({elapsed}) {msg}")?);
    let mut arm_runs = vec![Vec::<ArmRun>::new(); arms.len()];
    let mut peer_runs = vec![Vec::<Run>::new(); peers.len()];
    for round in 1..=reps.saturating_mul(MOST) {
        let again = u64::from(round > reps);
        for (arm, runs) in arms.iter().zip(&mut arm_runs) {
            if is_due(round, reps, runs.iter().filter(|run| run.run.is_kept()).count()) {
                progress.inc_length(again);
                progress.set_message(format!("{arm}, run {round}"));
                runs.push(arm_run::run_apart(work, *arm).with_context(|| format!("arm {arm}"))?);
                progress.inc(1);
            }
        }
        for (peer, runs) in peers.iter().zip(&mut peer_runs) {
            if is_due(round, reps, runs.iter().filter(|run| run.is_kept()).count()) {
                progress.inc_length(again);
                progress.set_message(format!("{peer}, run {round}"));
                runs.push(peer_run::run_apart(work, *peer).with_context(|| peer.to_string())?);
                progress.inc(1);
            }
        }
    }
    let arms = arms.iter().zip(&arm_runs).map(|(arm, runs)| ArmSummary::new(*arm, work, runs));
    let peers = peers.iter().zip(&peer_runs).map(|(peer, runs)| PeerSummary::new(*peer, work, runs));
    Ok((arms.collect::<Result<_>>()?, peers.collect::<Result<_>>()?))
}

/// Whether a side runs in this round, counted from 1: in the first `reps`, and after them while fewer of its runs had the processor.
fn is_due(round: u32, reps: u32, kept: usize) -> bool {
    round <= reps || kept < reps as usize
}

/// The threshold of the model file, where it has been measured.
fn excuse_threshold(sha256: &str) -> Result<Option<f32>> {
    let known = TokenOracle::find_if_known(&TokenOracle::folder(), sha256)?;
    Ok(known.and_then(|(_, oracle)| oracle.two_builds).map(|two_builds| two_builds.excuse_threshold))
}

/// The ids of the prompt, and those of each arm and peer by its name.
fn ids_json(work: &Work, arms: &[ArmSummary], peers: &[PeerSummary<'_>]) -> Result<String> {
    let mut ids = BTreeMap::from([("prompt".to_owned(), &work.prompt)]);
    ids.extend(arms.iter().map(|summary| (summary.arm.to_string(), &summary.figures.ids)));
    ids.extend(peers.iter().map(|summary| (summary.peer.to_string(), &summary.figures.ids)));
    Ok(serde_json::to_string(&ids)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_made_again_until_enough_had_the_processor() {
        assert!(is_due(1, 3, 0) && is_due(3, 3, 2), "as many as were asked for");
        assert!(is_due(4, 3, 2) && !is_due(4, 3, 3));
    }
}
