//! `xtask bench --kernels`: single multiplications, by what the machine could do at most and beside what others reach on it.
//!
//! The limits are measured by fixed probes in the same run, before the rows and after them. Each row is multiplied by all sides in turns,
//! so that a machine that gets slower meanwhile is no one's advantage; what each side does includes quantizing the activations. All
//! sides have the same weights and activations, and products that differ by more than roundings end the bench.

mod agreement;
mod candle;
mod case;
mod data;
#[cfg(test)]
mod example;
pub(crate) mod ggml_run;
pub(crate) mod ik_run;
pub(super) mod limits;
mod onnxruntime;
mod operands;
mod ours;
mod peer_process;
mod report;
mod row;
mod times;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_blocks::GgmlType;
use keepq_gemm::executor_from_env;
use keepq_simd::Tier;

use super::machine::Machine;
use super::peer::Build;
use crate::files;
pub(crate) use case::TYPES;
use case::{Case, cases};
use data::{Data, DataFolder};
use limits::{BeforeAndAfter, Limits};
use operands::Operands;
use ours::Ours;
use peer_process::{PeerProcess, Prepared};
use report::Report;
use row::{PeerName, PeerTimes, Row};
use times::{Repetition, Times, Turn};

/// The arguments of `bench --kernels`, beside those that it shares with `bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Measure single multiplications in place of the arms
    #[arg(long, conflicts_with_all = ["arms", "model", "prompt_len", "gen_len", "ids"])]
    pub(super) kernels: bool,
    /// With --kernels, a type of weights, given once for each [default: all that have kernels]
    #[arg(long = "type", value_name = "TYPE", value_parser = weight_type, requires = "kernels")]
    types: Vec<GgmlType>,
    /// With --kernels, rows of the weights, given once for each --k [default: 4096, 14336 and 2048]
    #[arg(long, value_name = "N", value_parser = size, requires_all = ["kernels", "k"])]
    n: Vec<usize>,
    /// With --kernels, columns of the weights, given once for each --n [default: 4096, 4096 and 6144]
    #[arg(long, value_name = "K", value_parser = size, requires_all = ["kernels", "n"])]
    k: Vec<usize>,
    /// With --kernels, tokens, given once for each number [default: 1, 8, 128 and 512]
    #[arg(long, value_name = "M", value_parser = size, requires = "kernels")]
    m: Vec<usize>,
    /// With --kernels, seconds that each side multiplies a row at least, in turns [default: 0.25]
    #[arg(long, value_name = "S", value_parser = seconds, requires = "kernels")]
    seconds: Option<f64>,
    /// With --kernels, a Python that has onnxruntime, onnx and numpy, to run ONNX Runtime beside the types of 4 bits
    #[arg(long, value_name = "PYTHON", requires = "kernels")]
    onnxruntime: Option<OsString>,
    /// With --kernels, compile candle for a processor as rustc names it, and run it beside all types [default: haswell, which has AVX2]
    #[arg(long, value_name = "CPU", num_args = 0..=1, require_equals = true, default_missing_value = candle::AVX2)]
    #[arg(requires = "kernels")]
    candle: Option<OsString>,
    /// With --kernels, a folder with ik_llama.cpp's libggml.so, to run it beside all types
    #[arg(long, value_name = "DIR", requires = "kernels")]
    ik_llama: Option<PathBuf>,
    /// With --kernels, multiply by copies of the weights whose rows are interleaved, for the types that have them
    #[arg(long, requires = "kernels")]
    interleaved: bool,
}

/// What `bench --kernels` shares with `bench`.
pub(super) struct Shared<'a> {
    pub(super) threads: Option<usize>,
    pub(super) reps: Option<u32>,
    pub(super) builds: &'a [Build],
    pub(super) json: bool,
}

/// Turns of each side where it is not said: a median needs some, and more take minutes.
const TURNS: u32 = 5;

/// A side that never had the processor gets up to so many times as many turns.
const MOST: u32 = 3;

/// Seconds of each side where it is not said.
const SECONDS: f64 = 0.25;

/// Parses the name of a type that has kernels.
fn weight_type(name: &str) -> Result<GgmlType, String> {
    let known = TYPES.into_iter().find(|ty| ty.name().eq_ignore_ascii_case(name));
    known.ok_or_else(|| format!("none of {}", TYPES.map(GgmlType::name).join(", ")))
}

/// The most elements of a row, or rows: beyond, a slip of the finger would fill the memory.
const MOST_ELEMENTS: usize = 1 << 20;

fn size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size @ 1..=MOST_ELEMENTS) => Ok(size),
        _ => Err(format!("not a number from 1 to {MOST_ELEMENTS}")),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number from 0 to 3600".to_owned()),
    }
}

/// Runs the command.
pub(super) fn run(args: &Options, shared: &Shared<'_>) -> Result<()> {
    let tier = Tier::from_env()?;
    let threads = shared.threads.unwrap_or(1);
    let cases = args.cases(threads)?;
    let turns = shared.reps.unwrap_or(TURNS);
    let turn = Turn { seconds: args.seconds.unwrap_or(SECONDS) / f64::from(turns) };
    let executor = executor_from_env(threads)?;
    let mut peers = Peers::start(args, shared.builds, threads)?;

    let machine = Machine::now();
    let before = Limits::measure(threads);
    let progress = ProgressBar::new(cases.len() as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} rows ({elapsed}) {msg}")?);
    let mut rows = Vec::new();
    for case in cases {
        progress.set_message(case.to_string());
        let operands = Operands::of(&case)?;
        let mut ours = Ours::new(case, &operands, tier, &*executor, args.interleaved)?;
        rows.push(measure(&case, &operands, &mut ours, &mut peers, turns, turn).with_context(|| case.to_string())?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let limits = BeforeAndAfter { threads, before, after: Limits::measure(threads) };
    let programs = peers.all.iter().map(|peer| peer.process.program.clone()).collect();
    let report = Report {
        tier: tier.name(),
        interleaved: args.interleaved,
        machine: machine.and_after(),
        programs,
        limits,
        rows,
    };
    files::print(&if shared.json { report.json()? } else { report.to_string() })
}

impl Options {
    /// All combinations of what was given, or of the defaults.
    fn cases(&self, threads: usize) -> Result<Vec<Case>> {
        ensure!(
            self.n.len() == self.k.len(),
            "--n is given {} times, --k {}: give one of each for a shape",
            self.n.len(),
            self.k.len()
        );
        let given: Vec<_> = self.n.iter().copied().zip(self.k.iter().copied()).collect();
        let shapes = if given.is_empty() { &case::SHAPES[..] } else { &given };
        let types = if self.types.is_empty() { &TYPES[..] } else { &self.types };
        let tokens = if self.m.is_empty() { &case::TOKENS[..] } else { &self.m };
        let cases = cases(types, shapes, tokens, threads);
        if let Some(case) = cases.iter().find(|case| case.weight_bytes().is_none()) {
            bail!("--k {}: rows of {} are multiples of {}", case.k, case.ty, case.ty.block_len());
        }
        Ok(cases)
    }
}

/// Who multiplies beside us.
struct Peers {
    all: Vec<Peer>,
    folder: DataFolder,
}

/// One of them.
struct Peer {
    process: PeerProcess,
    /// Whether it has something like a type.
    multiplies: fn(GgmlType) -> bool,
    /// Whether it is to be told of the operands in files.
    needs_data: bool,
}

impl Peers {
    fn start(args: &Options, builds: &[Build], threads: usize) -> Result<Self> {
        // What makes the operands itself, and what does not.
        let own = |process| Peer { process, multiplies: |_| true, needs_data: false };
        let told = |process, multiplies| Peer { process, multiplies, needs_data: true };
        let mut all = Vec::new();
        for build in builds {
            all.push(own(PeerProcess::llama(build)?));
        }
        if let Some(folder) = &args.ik_llama {
            all.push(own(ik_run::start(folder).context("--ik-llama")?));
        }
        if let Some(cpu) = &args.candle {
            all.push(told(candle::start(cpu, threads).context("--candle")?, |_| true));
        }
        if let Some(python) = &args.onnxruntime {
            all.push(told(onnxruntime::start(python).context("--onnxruntime")?, onnxruntime::multiplies));
        }
        Ok(Self { all, folder: DataFolder::new()? })
    }

    /// Those that have this type, and what they are to be told of the operands.
    fn of(&mut self, case: &Case, operands: &Operands) -> Result<Vec<(&mut PeerProcess, Option<Data>)>> {
        let peers = self.all.iter_mut().filter(|peer| (peer.multiplies)(case.ty)).collect::<Vec<_>>();
        let needed = peers.iter().any(|peer| peer.needs_data);
        let data = needed.then(|| self.folder.write(case, operands)).transpose()?;
        Ok(peers.into_iter().map(|peer| (&mut peer.process, data.clone().filter(|_| peer.needs_data))).collect())
    }
}

/// A setting of a peer, and what it has done so far.
struct Side {
    /// Which of the peers.
    peer: usize,
    name: PeerName,
    prepared: Prepared,
    difference: f64,
    repetitions: Vec<Repetition>,
}

/// Multiplies by turns, after each side has multiplied once, to compare the products.
fn measure(
    case: &Case,
    operands: &Operands,
    ours: &mut Ours<'_>,
    peers: &mut Peers,
    turns: u32,
    turn: Turn,
) -> Result<Row> {
    ours.multiply()?;
    let sample = agreement::sample(case, ours.output());
    let mut peers = peers.of(case, operands)?;
    let mut sides = Vec::new();
    for (index, (peer, data)) in peers.iter_mut().enumerate() {
        let all = peer.prepare(case, data.take()).with_context(|| peer.program.name.clone())?;
        for prepared in all {
            let name = PeerName::of(&peer.program, &prepared.setting);
            let difference = agreement::difference(&sample, &prepared.sample, prepared.requantized)
                .with_context(|| format!("{} and ours", name.name))?;
            sides.push(Side { peer: index, name, prepared, difference, repetitions: Vec::new() });
        }
    }
    let mut own = Vec::new();
    // Where others had the processor all the time, there are more turns.
    for number in 0..turns.saturating_mul(MOST) {
        let is_known = |repetitions: &[Repetition]| repetitions.iter().any(Repetition::is_kept);
        if number >= turns && is_known(&own) && sides.iter().all(|side| is_known(&side.repetitions)) {
            break;
        }
        own.extend(turn.take(ours.copies(), || ours.multiply())?);
        for side in &mut sides {
            side.repetitions.extend(peers[side.peer].0.take(&side.prepared.setting, turn)?);
        }
    }
    let peers = sides.into_iter().map(|side| {
        Ok(PeerTimes {
            peer: side.name,
            layout: side.prepared.layout,
            times: Times::of(&side.repetitions).context("no repetitions")?,
            difference: side.difference,
        })
    });
    Ok(Row { case: *case, ours: Times::of(&own).context("no repetitions")?, peers: peers.collect::<Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use keepq_act::ActFormat;

    use super::*;

    #[test]
    fn names_of_types_and_numbers_are_checked() {
        assert_eq!(weight_type("q4_k"), Ok(GgmlType::Q4_K));
        assert_eq!(weight_type("bf16"), Ok(GgmlType::BF16));
        let error = weight_type("IQ4_NL").expect_err("no kernel");
        assert!(error.starts_with("none of Q2_K, Q3_K, Q4_0, "), "{error}");
        assert_eq!((size("4096"), seconds("0")), (Ok(4096), Ok(0.0)));
        for wrong in ["0", "-1", "9999999", "x", ""] {
            assert_eq!(size(wrong), Err("not a number from 1 to 1048576".to_owned()), "{wrong}");
        }
        for wrong in ["-1", "NaN", "inf", "x"] {
            assert_eq!(seconds(wrong), Err("not a number from 0 to 3600".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn every_type_has_a_kernel() {
        for ty in TYPES {
            assert_eq!(weight_type(ty.name()), Ok(ty));
            assert!(ActFormat::for_weights(ty).is_some(), "{ty}");
        }
    }

    #[test]
    fn shapes_are_pairs_of_n_and_k() {
        let args = |n: &[usize], k: &[usize]| Options {
            kernels: true,
            types: vec![GgmlType::Q4_K],
            n: n.to_vec(),
            k: k.to_vec(),
            m: vec![2],
            seconds: None,
            onnxruntime: None,
            candle: None,
            ik_llama: None,
            interleaved: false,
        };
        let cases = |n: &[usize], k: &[usize]| args(n, k).cases(1).map_err(|error| error.to_string());
        let shapes: Vec<_> = cases(&[5, 6], &[256, 512]).expect("pairs").iter().map(|case| (case.n, case.k)).collect();
        assert_eq!(shapes, [(5, 256), (6, 512)]);
        assert_eq!(cases(&[], &[]).expect("the defaults").len(), 3);
        assert_eq!(
            cases(&[5], &[256, 512]).expect_err("a k too many"),
            "--n is given 1 times, --k 2: give one of each for a shape"
        );
        assert_eq!(cases(&[5], &[128]).expect_err("half a block"), "--k 128: rows of Q4_K are multiples of 256");
    }
}
