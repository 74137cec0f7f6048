//! Developer commands of keepq: `cargo xtask help` lists them.
#![deny(unsafe_code)]

mod commands;
#[expect(unsafe_code, reason = "shared libraries are driven through their C interfaces")]
mod foreign;
mod sha256;
mod token_oracle;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{excuse, forced_logits};

/// Developer commands of keepq
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how far two of llama.cpp's own builds are apart on a model file
    Excuse(excuse::Args),
    /// One build's part of `excuse`
    #[command(hide = true)]
    ForcedLogits(forced_logits::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Excuse(args) => excuse::run(&args),
        Command::ForcedLogits(args) => forced_logits::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
