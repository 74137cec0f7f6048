//! `xtask plot`: the arm after and llama.cpp beside each other, for several lengths of prompt and numbers of threads, as a picture.
//!
//! Each point is what `bench` tells of that length and number of threads.

mod draw;
mod sweep;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::peer::{Build, Peer, Setting};
use crate::files::{self, Replacement};
use crate::foreign::llama::Cpu;
use crate::model_files::ModelFiles;
use crate::runtime;
use sweep::{Sweep, table};

/// The arguments of `plot`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The SVG file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Lengths of the prompt
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = [16, 64, 128, 256, 512, 1024],
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    prompt_len: Vec<u32>,
    /// Numbers of threads
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2], value_parser = runtime::thread_count)]
    threads: Vec<usize>,
    /// Tokens to generate after each prompt, the end of generation ignored
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..))]
    gen_len: u32,
    /// A folder of llama.cpp's libraries, to run them beside; the better of their settings is drawn
    #[arg(long, value_name = "DIR")]
    peer: Option<PathBuf>,
    /// The peer's CPU backend, such as haswell, or best [default: best]
    #[arg(long, value_name = "NAME", requires = "peer")]
    peer_variant: Option<Cpu>,
    /// Runs of each side at each point, up to three times as many where others had the processor
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (lengths, threads) = (ascending(&args.prompt_len), ascending(&args.threads));
    ensure!(args.out.extension().is_some_and(|extension| extension == "svg"), "{}: no .svg", args.out.display());
    let folders: Vec<_> = args.peer.iter().cloned().collect();
    let variants: Vec<_> = args.peer_variant.iter().cloned().collect();
    let files = ModelFiles::open(&args.model, false)?;
    let model = files.path();
    let texts = super::Texts::of(&args.model, &files, lengths.iter().copied().max().unwrap_or(1), args.gen_len)?;
    drop(files);
    let builds = Build::describe_all(&folders, &variants)?;
    // Before anything runs, since a path that cannot be written to need not wait for that.
    let out = Replacement::of(&args.out)?;

    let peers = builds.iter().flat_map(|build| Setting::ALL.map(|setting| Peer { build, setting })).collect();
    let sweep = Sweep { model, texts, lengths, threads, gen_len: args.gen_len as usize, peers, reps: args.reps };
    let points = sweep.measure()?;
    out.write(draw::svg(&points)?.as_bytes())?;
    files::print(&table(&points))
}

/// The numbers in order, each once.
fn ascending<T: Ord + Copy>(numbers: &[T]) -> Vec<T> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
