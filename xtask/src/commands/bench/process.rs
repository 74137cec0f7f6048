//! One run of one arm, in a process of its own (`xtask bench-arm`, which `bench` starts).

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use keepq_decoder::{Logits, Model, Session, argmax};
use keepq_gguf::{Gguf, Source, open_set};
use serde::{Deserialize, Serialize};

use super::arm::{Arm, VARIABLES};
use crate::{files, runtime};

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

/// What every run of a bench does.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) model: PathBuf,
    pub(super) threads: usize,
    pub(super) prompt: Vec<u32>,
    pub(super) gen_len: usize,
}

/// What a run tells.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Run {
    /// The tier that ran.
    pub(super) tier: String,
    /// From opening the file to a model that is ready.
    pub(super) load_ms: f64,
    /// The whole prompt to the first token, loading excluded.
    pub(super) ttft_ms: f64,
    /// Each further token, on average.
    pub(super) tpot_ms: f64,
    /// The most memory that was resident at a time; none where the system does not tell.
    pub(super) peak_rss_bytes: Option<u64>,
    /// Bytes of weights that a token is multiplied by.
    pub(super) weight_bytes: u64,
    /// Multiply-adds of weights in the prompt.
    pub(super) prompt_multiply_adds: u64,
    /// The ids generated.
    pub(super) ids: Vec<u32>,
    /// The lead of each over the second choice.
    pub(super) leads: Vec<f32>,
}

/// Runs an arm in a process of its own.
pub(super) fn run_apart(work: &Work, arm: Arm) -> Result<Run> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("bench-arm").arg("--model").arg(&work.model).arg("--gen-len").arg(work.gen_len.to_string());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.envs(arm.variable()).env("KEEPQ_THREADS", work.threads.to_string());
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a process of this program")?;
    if let Some(mut stdin) = process.stdin.take() {
        // Where the process has ended already, what it says of that is better than a broken pipe.
        let _broken_pipe = stdin.write_all(&serde_json::to_vec(&work.prompt)?);
    }
    let Output { status, stdout, stderr } = process.wait_with_output()?;
    if !status.success() {
        // Its own error is one line; a panic is a line too, and hints after it.
        let stderr = String::from_utf8_lossy(&stderr);
        let line = stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message");
        match line.strip_prefix("error: ") {
            Some(error) => bail!("{error}"),
            None => bail!("the process ended with {status}: {line}"),
        }
    }
    serde_json::from_slice(&stdout).context("cannot read the process's answer")
}

/// Runs the arm that the environment asks for.
pub(crate) fn run(args: &Args) -> Result<()> {
    let prompt: Vec<u32> = serde_json::from_reader(io::stdin().lock()).context("standard input")?;
    let gen_len = args.gen_len as usize;
    let settings = runtime::settings(None)?;
    let file = || args.model.display().to_string();

    let start = Instant::now();
    let set = open_set(&args.model, Source::map)?;
    let gguf = set.parse()?;
    let model = Model::load(&gguf, settings.residency()).with_context(file)?;
    let load = start.elapsed();

    let mut session = Session::new(&model, settings.driver(), prompt.len() + gen_len)?;
    let mut steps = vec![Step::new(&mut session, &prompt).with_context(file)?];
    while steps.len() < gen_len {
        let last = steps[steps.len() - 1].id;
        steps.push(Step::new(&mut session, &[last]).with_context(file)?);
    }
    let (first, further) = (&steps[0], &steps[1..]);

    let report = model.report();
    let run = Run {
        tier: settings.driver().tier().name().to_owned(),
        load_ms: milliseconds(load),
        ttft_ms: milliseconds(first.elapsed),
        tpot_ms: milliseconds(further.iter().map(|step| step.elapsed).sum()) / further.len() as f64,
        peak_rss_bytes: peak_rss_bytes(),
        weight_bytes: (report.kept_bytes + report.expanded_bytes) as u64,
        prompt_multiply_adds: multiply_adds(&gguf, prompt.len()),
        ids: steps.iter().map(|step| step.id).collect(),
        leads: steps.iter().map(|step| step.lead).collect(),
    };
    files::print(&(serde_json::to_string(&run)? + "\n"))
}

/// A token, greedily chosen.
struct Step {
    id: u32,
    /// The lead of its logit over the second.
    lead: f32,
    elapsed: Duration,
}

impl Step {
    fn new(session: &mut Session<'_, '_>, tokens: &[u32]) -> Result<Self> {
        let start = Instant::now();
        let logits = session.feed(tokens, Logits::Last)?;
        let id = argmax(logits).context("all logits are NaN")?;
        let elapsed = start.elapsed();

        let others = (0..).zip(logits).filter(|&(other, logit)| other != id && !logit.is_nan());
        let second = others.map(|(_, logit)| *logit).fold(f32::NEG_INFINITY, f32::max);
        Ok(Self { id, lead: logits[id as usize] - second, elapsed })
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Multiply-adds of weights that `tokens` tokens of a prompt take: the layers for each, the head for the last one.
fn multiply_adds(gguf: &Gguf<'_>, tokens: usize) -> u64 {
    let layers = gguf.tensors().iter().filter(|tensor| tensor.name().starts_with("blk.") && tensor.dims().len() == 2);
    let head = gguf.tensor("output.weight").or_else(|| gguf.tensor("token_embd.weight"));
    let per_token: u64 = layers.map(|tensor| tensor.elements()).sum();
    per_token.saturating_mul(tokens as u64).saturating_add(head.map_or(0, |head| head.elements()))
}

/// The high-water mark of this process's resident memory, as Linux keeps it.
fn peak_rss_bytes() -> Option<u64> {
    parse_peak(&fs::read_to_string("/proc/self/status").ok()?)
}

fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status() {
        assert_eq!(
            parse_peak("Name:\txtask\nVmPeak:\t  9 kB\nVmHWM:\t   1284 kB\nVmRSS:\t  8 kB\n"),
            Some(1284 * 1024)
        );
        assert_eq!(parse_peak("Name:\txtask\n"), None);
    }
}
