//! Developer commands of keepq: `cargo xtask help` lists them.
#![deny(unsafe_code)]

mod cache;
mod columns;
mod commands;
mod files;
#[expect(unsafe_code, reason = "shared libraries are driven through their C interfaces")]
mod foreign;
mod interrupt;
mod model_files;
mod packages;
mod progress;
mod runtime;
mod sha256;
mod synth;
mod token_oracle;
mod toolchain;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::bench::kernels::{ggml_run as bench_kernels_peer, ik_run as bench_kernels_ik};
use commands::bench::{arm_run as bench_arm, gate, peer_run as bench_peer, plot};
use commands::quantize::llama as llama_quantize;
use commands::{
    api, bench, emulate, excuse, fidelity, forced_logits, generate, inspect, instructions, matrix, model, mutate,
    parity, quantize, sanitize, throughput, tokens, verify,
};

/// Developer commands of keepq
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the public items of the library crates, and compare with those that are stored
    Api(api::Args),
    /// Measure the three arms: time to the first token, time per token, memory
    Bench(Box<bench::Args>),
    /// One run of one arm of `bench`
    #[command(hide = true)]
    BenchArm(bench_arm::Args),
    /// ik_llama.cpp's side of `bench --kernels`
    #[command(hide = true)]
    BenchKernelsIk(bench_kernels_ik::Args),
    /// llama.cpp's side of `bench --kernels`
    #[command(hide = true)]
    BenchKernelsPeer(bench_kernels_peer::Args),
    /// One run of llama.cpp in `bench`
    #[command(hide = true)]
    BenchPeer(bench_peer::Args),
    /// Run the tests of the kernels on emulated processors that have what this one lacks
    Emulate(emulate::Args),
    /// Measure how far two of llama.cpp's own builds are apart on a model file
    Excuse(excuse::Args),
    /// Measure how far types of weights are from bf16, beside the bytes that they take
    Fidelity(fidelity::Args),
    /// One build's part of `excuse`
    #[command(hide = true)]
    ForcedLogits(forced_logits::Args),
    /// Decide on each tier whether per-channel int4 is faster than int8
    Gate(gate::Args),
    /// Continue a prompt
    Generate(generate::Args),
    /// Show what a GGUF file holds
    Inspect(inspect::Args),
    /// Count the instructions of the kernels, and compare with the counts that are stored
    Instructions(instructions::Args),
    /// What `instructions` counts
    #[command(hide = true)]
    InstructionsCounted,
    /// llama.cpp's own quantization of a file, for comparison
    #[command(hide = true)]
    LlamaQuantize(llama_quantize::Args),
    /// Show which type can do what on which tier
    Matrix(matrix::Args),
    /// Fetch a published model file into the cache, or make one there
    Model(model::Args),
    /// Change constants and indices one at a time, and demand that tests fail
    Mutate(mutate::Args),
    /// Compare every golden with what every tier computes
    Parity(parity::Args),
    /// Draw how fast the arm after is, and llama.cpp, by length of the prompt and number of threads
    Plot(plot::Args),
    /// Write a model file with its matrices in another type
    Quantize(quantize::Args),
    /// Run the tests under a sanitizer
    Sanitize(sanitize::Args),
    /// Estimate on paper how fast the loops of many tokens are on processors that this machine is not
    Throughput(throughput::Args),
    /// Store llama.cpp's ids and choices on a model file, for `tokens`
    TokenOracle(commands::token_oracle::Args),
    /// Compare a model's ids and choices with llama.cpp's, and its bits on all tiers
    Tokens(tokens::Args),
    /// Look for elements that are not finite, by tensor, row and block
    Verify(verify::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            eprintln!("{}", first_paragraph(&error.to_string()));
            return ExitCode::from(2);
        }
        Err(help) => help.exit(),
    };
    let result = match cli.command {
        Command::Api(args) => api::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::BenchArm(args) => bench_arm::run(&args),
        Command::BenchKernelsIk(args) => bench_kernels_ik::run(&args),
        Command::BenchKernelsPeer(args) => bench_kernels_peer::run(&args),
        Command::BenchPeer(args) => bench_peer::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Excuse(args) => excuse::run(&args),
        Command::Fidelity(args) => fidelity::run(&args),
        Command::ForcedLogits(args) => forced_logits::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Instructions(args) => instructions::run(&args),
        Command::InstructionsCounted => instructions::counted::run(),
        Command::LlamaQuantize(args) => llama_quantize::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Model(args) => model::run(&args),
        Command::Mutate(args) => mutate::run(&args),
        Command::Parity(args) => parity::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Quantize(args) => quantize::run(&args),
        Command::Sanitize(args) => sanitize::run(&args),
        Command::Throughput(args) => throughput::run(&args),
        Command::TokenOracle(args) => commands::token_oracle::run(&args),
        Command::Tokens(args) => tokens::run(&args),
        Command::Verify(args) => verify::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What clap says is wrong, on one line, without the usage and hints that follow it.
fn first_paragraph(message: &str) -> String {
    message.lines().map(str::trim).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
