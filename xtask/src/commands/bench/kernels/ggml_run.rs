//! A build of llama.cpp that multiplies when it is asked to (`xtask bench-kernels-peer`, which `bench --kernels` starts).

use std::io::{self, BufRead as _};
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::super::peer::Setting;
use super::super::process;
use super::agreement;
use super::case::Case;
use super::operands::Operands;
use super::peer_process::{Prepared, Request};
use crate::foreign::llama::{self, Cpu, Llama, MulMat};

/// The arguments of `bench-kernels-peer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of llama.cpp's libraries
    #[arg(long)]
    folder: PathBuf,
    /// The CPU backend
    #[arg(long)]
    variant: Cpu,
}

/// A case with one setting.
struct Side<'l> {
    setting: Setting,
    case: Case,
    copies: usize,
    mul_mat: MulMat<'l>,
}

/// Runs the command: a request a line, until there are no more.
pub(crate) fn run(args: &Args) -> Result<()> {
    let llama = Llama::load(&args.folder, &args.variant)?;
    let mut sides: Vec<Side<'_>> = Vec::new();
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?).context("standard input")? {
            Request::Prepare { case, .. } => {
                // The memory of the case before first.
                sides.clear();
                sides = prepare(&llama, case.try_into()?)?;
                let prepared: Vec<_> = sides.iter_mut().map(first).collect::<Result<_>>()?;
                process::answer(&prepared)?;
            }
            Request::Take { setting, turn } => {
                let side =
                    sides.iter_mut().find(|side| side.setting.name() == setting).context("nothing is prepared")?;
                let mut running = side.mul_mat.start(side.case.threads)?;
                process::answer(&turn.take(side.copies, || running.compute())?)?;
            }
        }
    }
    Ok(())
}

/// The case with each setting that there is for it.
fn prepare(llama: &Llama, case: Case) -> Result<Vec<Side<'_>>> {
    let Operands { weights, x, copies, .. } = Operands::of(&case)?;
    let ty = case.ty.blocks()?;
    let operands = llama::Operands { ty, n: case.n, k: case.k, weights: &weights, m: case.m, x: &x, copies };
    let mut sides = Vec::new();
    for setting in Setting::ALL {
        if let Some(mul_mat) = llama.mul_mat(&operands, setting == Setting::Repacked)? {
            sides.push(Side { setting, case, copies, mul_mat });
        }
    }
    Ok(sides)
}

/// Multiplies once, for the product and to warm up.
fn first(side: &mut Side<'_>) -> Result<Prepared> {
    side.mul_mat.start(side.case.threads)?.compute()?;
    let n = side.case.n;
    let tokens = agreement::tokens(&side.case).into_iter().map(|t| side.mul_mat.output(t * n, n));
    let sample = tokens.collect::<Result<Vec<_>>>()?.concat();
    Ok(Prepared {
        setting: side.setting.name().to_owned(),
        layout: side.mul_mat.layout().to_owned(),
        requantized: false,
        sample,
    })
}
