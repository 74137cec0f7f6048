//! `xtask token-oracle`: stores what llama.cpp makes of a model file, for `tokens` to compare with.
//!
//! llama.cpp's own library continues each prompt greedily, with one thread and without repacking. In the same go two of its
//! builds are compared on the result, as `excuse` does it, where the folder has them.

mod continuation;
mod prompts;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_gguf::{Source, open_set};

use super::excuse;
use crate::files::{self, Replacement};
use crate::foreign::llama::{Cpu, Llama, ModelOptions};
use crate::sha256;
use crate::token_oracle::{Prompt, TokenOracle};

/// The arguments of `token-oracle`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The folder of llama.cpp's libraries
    #[arg(long, value_name = "DIR")]
    llama: PathBuf,
    /// Which of the folder's CPU backends computes: `haswell` is libggml-cpu-haswell.so, `best` llama.cpp's own choice
    #[arg(long, value_name = "V", default_value = "haswell")]
    variant: Cpu,
    /// The file to write; its name without the extension is the model's
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// A text to continue, given once for each [default: texts of this project's own, short and long]
    #[arg(long = "prompt", value_name = "TEXT")]
    prompts: Vec<String>,
    /// Ids to generate for each, at most: the end of generation comes before
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.out.file_stem().and_then(|stem| stem.to_str());
    let name = name.with_context(|| format!("{} has no name to call the model by", args.out.display()))?;
    // Before anything runs, since a path that cannot be written to need not wait for that.
    let out = Replacement::of(&args.out)?;
    let set = open_set(&args.model, Source::map)?;
    let sha256 = sha256::of_set(&set);
    // Of a set, llama.cpp opens no file but the first.
    let (produced_by, prompts) = continued(args, set.sources()[0].path())?;
    let mut oracle =
        TokenOracle { model: name.to_owned(), sha256: Some(sha256.clone()), produced_by, two_builds: None, prompts };

    if has_two_builds(&args.llama) {
        let report = excuse::measure(&args.model, &sha256, &args.llama, &oracle)?;
        files::print(&report.to_string())?;
        report.check()?;
        oracle.two_builds = Some(report.two_builds);
    } else {
        files::print(&format!(
            "two builds are not compared: {} has no libraries of both {}\n",
            args.llama.display(),
            excuse::VARIANTS.join(" and ")
        ))?;
    }
    out.write(oracle.to_text()?.as_bytes())
}

/// What computes, in words, and what it makes of the prompts.
fn continued(args: &Args, model: &Path) -> Result<(String, Vec<Prompt>)> {
    let texts: Vec<&str> = match &args.prompts[..] {
        [] => prompts::TEXTS.to_vec(),
        own => own.iter().map(String::as_str).collect(),
    };
    ensure!(texts.iter().all(|text| !text.is_empty()), "a prompt is empty");
    let llama = Llama::load(&args.llama, &args.variant)?;
    let model = llama.model(model, &ModelOptions { mmap: true, repack: false })?;
    let progress = ProgressBar::new(texts.len() as u64)
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} prompts ({elapsed})")?);
    let mut prompts = Vec::new();
    for text in texts {
        let prompt = continuation::greedy(&model, text, args.steps as usize);
        prompts.push(prompt.with_context(|| format!("prompt {text:?}"))?);
        progress.inc(1);
    }
    let backend = match &args.variant {
        Cpu::Variant(variant) => format!("its {variant} CPU backend"),
        Cpu::Best => format!("the backend it chooses ({})", llama.system_info()),
    };
    Ok((format!("llama.cpp {}, {backend}, weights not repacked, one thread", llama.version()), prompts))
}

/// Whether the folder has the builds that are compared.
fn has_two_builds(folder: &Path) -> bool {
    excuse::VARIANTS.iter().all(|variant| Cpu::Variant((*variant).to_owned()).is_in(folder))
}
