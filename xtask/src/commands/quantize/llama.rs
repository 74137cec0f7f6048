//! `xtask llama-quantize`: what llama.cpp's own library makes of a file, for comparison with `quantize`.

use std::path::PathBuf;

use anyhow::Result;

use super::target::Target;
use crate::foreign::llama::{Cpu, Llama};

/// The arguments of `llama-quantize`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of llama.cpp's libraries
    #[arg(long, value_name = "DIR")]
    oracle: PathBuf,
    /// The GGUF file to read
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The type to quantize to
    #[arg(long = "type", value_name = "TYPE", value_parser = Target::parser(), ignore_case = true)]
    target: Target,
    /// The GGUF file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let llama = Llama::load(&args.oracle, &Cpu::Best)?;
    llama.quantize(&args.from, &args.out, args.target.file_type())
}
