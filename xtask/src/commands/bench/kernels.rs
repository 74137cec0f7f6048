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
mod four_bit;
pub(crate) mod ggml_run;
pub(crate) mod ik_run;
pub(super) mod limits;
mod operands;
mod options;
mod ours;
mod ours_four_bit;
mod peer_process;
mod peers;
mod python;
mod report;
mod row;
pub(super) mod times;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_gemm::{Driver, executor_from_env};
use keepq_simd::Tier;

use super::machine::Machine;
use super::peer::Build;
use crate::files;
pub(crate) use case::TYPES;
use case::{Case, Type};
use data::{Data, DataFolder};
use four_bit::Codes;
use limits::{BeforeAndAfter, Limits};
use operands::Operands;
pub(super) use options::{Options, seconds};
use ours::{Multiply, Ours};
use ours_four_bit::{OursFourBit, Stored};
use peer_process::Prepared;
use peers::Peers;
use report::Report;
use row::{PeerName, PeerTimes, Row};
use times::{Repetition, Times, Turn};

/// What `bench --kernels` shares with `bench`.
pub(super) struct Shared<'a> {
    pub(super) threads: Option<usize>,
    pub(super) reps: Option<u32>,
    pub(super) builds: &'a [Build],
    pub(super) json: bool,
}

/// Turns of each side where it is not said: a median needs some, and more take minutes.
pub(super) const TURNS: u32 = 5;

/// A side that never had the processor gets up to so many times as many turns.
const MOST: u32 = 3;

/// Seconds of each side where it is not said.
pub(super) const SECONDS: f64 = 0.25;

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
        let row = match case.ty {
            Type::Blocks(_) => {
                let operands = Operands::of(&case)?;
                let mut ours = Ours::new(case, &operands, tier, &*executor, args.interleaved)?;
                measure(&case, &|folder| folder.write(&case, &operands), &mut ours, &mut peers, turns, turn)
            }
            Type::FourBit(four_bit) => {
                let codes = Codes::of(&case, four_bit);
                let stored = Stored::new(&case, four_bit.path, &codes)?;
                let mut ours =
                    OursFourBit::new(case, &stored, &codes.x, args.row_major, Driver::new(tier, &*executor))?;
                measure(&case, &|folder| folder.write_codes(&case, &codes), &mut ours, &mut peers, turns, turn)
            }
        };
        rows.push(row.with_context(|| case.to_string())?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let limits = BeforeAndAfter { threads, before, after: Limits::measure(threads) };
    let programs = peers.all.iter().map(|peer| peer.process.program.clone()).collect();
    let report = Report {
        tier: tier.to_string(),
        interleaved: args.interleaved,
        row_major: args.row_major,
        machine: machine.and_after(),
        programs,
        limits,
        rows,
    };
    files::print(&if shared.json { report.json()? } else { report.to_string() })
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
    write: &dyn Fn(&DataFolder) -> Result<Data>,
    ours: &mut dyn Multiply,
    peers: &mut Peers,
    turns: u32,
    turn: Turn,
) -> Result<Row> {
    ours.multiply()?;
    let sample = agreement::sample(case, &ours.output());
    let mut peers = peers.of(case, write)?;
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
