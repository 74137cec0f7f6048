//! candle's `QMatMul` for `cargo xtask bench --kernels --candle`.
//!
//! A request a line on standard input, an answer a line on standard output, JSON both: see xtask's `peer_process.rs`. Before them a line
//! that says which version this is.

mod matmul;
#[path = "../../../xtask/src/commands/bench/processor.rs"]
#[allow(dead_code, reason = "what is left out of figures is the asker's to say")]
mod processor;
mod protocol;

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Serialize;

use matmul::MatMul;
use processor::ProcessorTime;
use protocol::{Hello, Prepared, Repetition, Request, Turn};

/// The one setting that there is.
const SETTING: &str = "QMatMul";

/// A turn that would make more repetitions than this ends before its seconds do.
const MOST: usize = 1000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A request a line, until there are no more.
fn run() -> Result<()> {
    answer(&Hello { version: version().context("no candle-core in Cargo.lock")?, about: about() })?;
    let mut prepared = None;
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?).context("standard input")? {
            Request::Prepare { case, data } => {
                // The memory of the case before first.
                drop(prepared.take());
                let mat_mul = MatMul::new(&case, &data)?;
                let layout = mat_mul.layout().to_owned();
                let sample = mat_mul.sample(&data.tokens)?;
                prepared = Some(mat_mul);
                answer(&[Prepared { setting: SETTING, layout, requantized: false, sample }])?;
            }
            Request::Take { turn, .. } => {
                answer(&take(prepared.as_ref().context("nothing is prepared")?, turn)?)?;
            }
        }
    }
    Ok(())
}

/// Multiplies at least once, and until the seconds are over.
fn take(mat_mul: &MatMul, turn: Turn) -> Result<Vec<Repetition>> {
    let mut repetitions = Vec::new();
    let begin = Instant::now();
    while repetitions.is_empty() || (begin.elapsed().as_secs_f64() < turn.seconds && repetitions.len() < MOST) {
        let before = ProcessorTime::now();
        let start = Instant::now();
        mat_mul.multiply()?;
        let elapsed = start.elapsed();
        let after = ProcessorTime::now();
        repetitions.push(Repetition {
            seconds: elapsed.as_secs_f64() / mat_mul.copies() as f64,
            processor_share: before.zip(after).and_then(|(before, after)| after.share_since(&before)),
        });
    }
    Ok(repetitions)
}

fn answer(value: &impl Serialize) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all((serde_json::to_string(value)? + "\n").as_bytes())?;
    Ok(stdout.flush()?)
}

/// The version of candle-core that this was built with.
fn version() -> Option<String> {
    let lock = include_str!("../Cargo.lock");
    let (_, rest) = lock.split_once("name = \"candle-core\"\nversion = \"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// For which instruction sets this was compiled, and what candle is forbidden.
fn about() -> String {
    let [avx2, avx512] = [cfg!(target_feature = "avx2"), cfg!(target_feature = "avx512f")];
    let compiled = if avx512 {
        "AVX-512"
    } else if avx2 {
        "AVX2"
    } else {
        "no AVX2"
    };
    let forced = std::env::var_os("MISTRALRS_FORCE_AVX2").is_some_and(|value| value == "1");
    format!("QMatMul, compiled with {compiled}, {} at run time", if forced { "AVX2" } else { "the best" })
}
