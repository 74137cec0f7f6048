//! `xtask gate`: whether per-channel int4 is faster than int8 on this machine, which it has to be before anything may choose it.
//!
//! Both multiply by one token whose int8 codes are there: what differs are the weights, unpacking included. Each tier has a verdict of
//! its own. The quality of four bits is another gate.

mod matrices;
mod report;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_simd::Tier;
use keepq_tinygemm::ActBuf;

use super::kernels::times::{Repetition, Times, Turn};
use super::kernels::{SECONDS, TURNS, seconds};
use super::machine::Machine;
use crate::files;
use matrices::{Matrices, tokens};
use report::{Report, Row, What};

/// The arguments of `gate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Turns of each side
    #[arg(long, value_name = "N", default_value_t = TURNS, value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
    /// Seconds that each side multiplies a row at least, in turns
    #[arg(long, value_name = "S", default_value_t = SECONDS, value_parser = seconds)]
    seconds: f64,
    /// Print JSON, a line a row, then a line a verdict
    #[arg(long)]
    json: bool,
}

/// Single products, (n,k): the matrices of a layer.
const SHAPES: [(usize, usize); 4] = [(2048, 1024), (1024, 1024), (3072, 1024), (1024, 3072)];

/// A layer: queries, keys, values, output, gate, up, down.
const LAYER: [(usize, usize); 7] =
    [(2048, 1024), (1024, 1024), (1024, 1024), (1024, 2048), (3072, 1024), (3072, 1024), (1024, 3072)];

/// Layers of a stack that is read again and again: 79 MB of int8, 40 MB of int4.
const LAYERS: usize = 5;

/// How often it is read, one time after another.
const PASSES: usize = 15;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let machine = Machine::now();
    let tiers = Tier::available();
    let progress = ProgressBar::new((tiers.len() * (SHAPES.len() + 1)) as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} rows ({elapsed})")?);
    let products = SHAPES.map(|(n, k)| (What::Product { n, k }, vec![(n, k)], 1, 1));
    let stack = (What::Stack { layers: LAYERS, passes: PASSES }, LAYER.to_vec(), LAYERS, PASSES);
    let mut rows = Vec::new();
    for (what, shapes, layers, passes) in products.into_iter().chain([stack]) {
        let matrices = Matrices::new(&shapes, layers)?;
        for &tier in &tiers {
            rows.push(measure(what, tier, &matrices, passes, args)?);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    // The rows of a tier together.
    rows.sort_by_key(|row| tiers.iter().position(|tier| tier.name() == row.tier));
    let report = Report { machine: machine.and_after(), rows };
    files::print(&if args.json { report.json()? } else { report.to_string() })
}

/// Multiplies by turns, after each side has multiplied once.
fn measure(what: What, tier: Tier, matrices: &Matrices, passes: usize, args: &Args) -> Result<Row> {
    let mut buffers = [(); 3].map(|()| ActBuf::new());
    let x = tokens(&mut buffers)?;
    let mut y = matrices.output();
    let turn = Turn { seconds: args.seconds / f64::from(args.reps) };
    let take = |multiply: &mut dyn FnMut()| -> Result<Vec<Repetition>> {
        turn.take(passes, || {
            (0..passes).for_each(|_| multiply());
            Ok(())
        })
    };
    matrices.multiply_int8(tier, &x, &mut y);
    matrices.multiply_int4(tier, &x, &mut y);
    let (mut int8, mut int4) = (Vec::new(), Vec::new());
    for _ in 0..args.reps {
        int8.extend(take(&mut || matrices.multiply_int8(tier, &x, &mut y))?);
        int4.extend(take(&mut || matrices.multiply_int4(tier, &x, &mut y))?);
    }
    Ok(Row {
        what,
        tier: tier.name(),
        int8: Times::of(&int8).context("no repetitions")?,
        int4: Times::of(&int4).context("no repetitions")?,
        int8_bytes: matrices.int8_bytes(),
        int4_bytes: matrices.int4_bytes(),
    })
}
