//! A build of ik_llama.cpp that multiplies when it is asked to (`xtask bench-kernels-ik`, which `bench --kernels` starts).

use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::peer::Setting;
use super::super::process;
use super::agreement;
use super::case::Case;
use super::operands::Operands;
use super::peer_process::{Hello, PeerProcess, Prepared, Request};
use crate::foreign::llama::{self, IkLlama, IkMulMat};
use crate::sha256;

/// The arguments of `bench-kernels-ik`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of its libggml.so
    #[arg(long)]
    folder: PathBuf,
}

/// Digits of the SHA-256 that tell builds apart.
const DIGITS: usize = 12;

/// Starts it.
///
/// # Errors
/// A folder without the library, or with another one.
pub(super) fn start(folder: &Path) -> Result<Option<PeerProcess>> {
    let mut command = process::command("bench-kernels-ik")?;
    PeerProcess::start_told("ik_llama.cpp", &folder.to_string_lossy(), command.arg("--folder").arg(folder))
}

/// A case with one setting.
struct Side<'l> {
    setting: Setting,
    case: Case,
    copies: usize,
    mul_mat: IkMulMat<'l>,
}

/// Runs the command: a request a line, until there are no more.
pub(crate) fn run(args: &Args) -> Result<()> {
    let library = IkLlama::load(&args.folder)?;
    process::answer(&hello(&library)?)?;
    let mut sides: Vec<Side<'_>> = Vec::new();
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?).context("standard input")? {
            Request::Prepare { case, .. } => {
                // The memory of the case before first.
                sides.clear();
                sides = prepare(&library, case.try_into()?)?;
                let prepared: Vec<_> = sides.iter_mut().map(first).collect::<Result<_>>()?;
                process::answer(&prepared)?;
            }
            Request::Take { setting, turn } => {
                let side =
                    sides.iter_mut().find(|side| side.setting.name() == setting).context("nothing is prepared")?;
                process::answer(&turn.take(side.copies, || side.mul_mat.compute(side.case.threads))?)?;
            }
        }
    }
    Ok(())
}

/// The library does not tell its version, so that its bytes have to.
fn hello(library: &IkLlama) -> Result<Hello> {
    let version = sha256::of_file(library.file())?[..DIGITS].to_owned();
    let compiled = match library.instruction_sets() {
        [_, true] => "AVX-512",
        [true, _] => "AVX2",
        _ => "no AVX2",
    };
    Ok(Hello::Here { version, about: format!("SHA-256 of its libggml.so, compiled with {compiled}") })
}

/// The case with each setting that there is for it.
fn prepare(library: &IkLlama, case: Case) -> Result<Vec<Side<'_>>> {
    let Operands { weights, x, copies, .. } = Operands::of(&case)?;
    let ty = case.ty.blocks()?;
    let operands = llama::Operands { ty, n: case.n, k: case.k, weights: &weights, m: case.m, x: &x, copies };
    let mut sides = Vec::new();
    for setting in Setting::ALL {
        if let Some(mul_mat) = library.mul_mat(&operands, setting == Setting::Repacked)? {
            sides.push(Side { setting, case, copies, mul_mat });
        }
    }
    Ok(sides)
}

/// Multiplies once, for the product and to warm up.
fn first(side: &mut Side<'_>) -> Result<Prepared> {
    side.mul_mat.compute(side.case.threads)?;
    Ok(Prepared {
        setting: side.setting.name().to_owned(),
        layout: side.mul_mat.layout().to_owned(),
        requantized: false,
        sample: agreement::sample(&side.case, &side.mul_mat.output()),
    })
}
