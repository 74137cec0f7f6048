//! `xtask fidelity`: what each way to hold weights costs in quality, beside the bytes that it takes.
//!
//! The reference is the model in bf16: the file's weights decoded, rounded to bf16 and held so. Each candidate is made of that file as a user would
//! make it, and loaded as a user would load it. All of them read the same text window by window, the reference first, so that logits of one
//! window are in memory at a time. Then each continues the same prompts.

mod candidates;
mod measure;
mod metrics;
mod plot;
mod report;
mod texts;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use keepq_decoder::Settings;
use keepq_gemm::{Residency, executor_from_env, threads_from_env};
use keepq_gguf::Gguf;
use keepq_simd::Tier;
use keepq_tinygemm::select::PathKind;

use super::quantize::Target;
use crate::files::{self, Replacement};
use crate::model_files::{Contents, ModelFiles};
use crate::{runtime, sha256};
use candidates::{Candidate, Files, Form};
use measure::Measured;
use report::Report;
use texts::Texts;

/// The arguments of `fidelity`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Types to quantize to, and to compare
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_delimiter = ',',
        default_values = ["Q8_0", "Q6_K", "Q5_K", "Q5_1", "Q5_0", "Q4_K", "Q4_1", "Q4_0", "Q3_K", "Q2_K"],
        value_parser = Target::parser(),
        ignore_case = true
    )]
    types: Vec<Target>,
    /// 4-bit paths to quantize for, and to compare
    #[arg(
        long = "path",
        value_name = "PATH",
        value_delimiter = ',',
        default_values_t = PathKind::ALL,
        value_parser = path
    )]
    paths: Vec<PathKind>,
    /// Compare weights of the 4-bit paths too whose errors are made good by the stored calibration text
    #[arg(long)]
    calibrate: bool,
    /// Tokens of a window, each of which begins without a context
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(2..))]
    window: u32,
    /// Tokens of the text that are read at most [default: all of them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    tokens: Option<u32>,
    /// Tokens to continue each prompt by
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..))]
    gen_len: u32,
    /// A text to read instead of the stored one
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// An SVG file to draw quality against bytes in
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print JSON, a line a row, then the gate's line
    #[arg(long)]
    json: bool,
    /// Threads [default: KEEPQ_THREADS, or as many as the machine has]
    #[arg(long, value_name = "N", value_parser = runtime::thread_count)]
    threads: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let executor = executor_from_env(args.threads.map_or_else(threads_from_env, Ok)?)?;
    let settings = Settings::with_executor(Tier::from_env()?, executor, Residency::Keep);
    let source = ModelFiles::open(&args.model, false)?;
    let stored = source.parse()?;
    let file = || args.model.display().to_string();
    ensure!(matches!(stored, Contents::Gguf(..)), "{}: a checkpoint, expected a GGUF file", file());
    let tokenizer = stored.tokenizer().with_context(file)?;
    let texts = Texts::read(&tokenizer, args.text.as_deref(), args.tokens.map(|tokens| tokens as usize))?;
    // Before anything runs, since a path that cannot be written to need not wait for that.
    let plot = match &args.plot {
        Some(path) => {
            ensure!(path.extension().is_some_and(|extension| extension == "svg"), "{}: no .svg", path.display());
            Some(Replacement::of(path)?)
        }
        None => None,
    };

    let made = Files::new(&settings)?;
    let bf16_files = made.write_bf16(stored.vocabulary(), &settings).with_context(file)?;
    let bf16 = bf16_files.parse()?;
    let forms = forms(args, bf16.vocabulary())?;
    let threads = settings.driver().executor().threads();
    let calibration = args.calibrate.then(|| texts::calibration(&bf16, threads)).transpose()?;
    let write = |form| made.write(form, &bf16, calibration.as_ref(), &settings);
    let written = forms.iter().map(write).collect::<Result<Vec<_>>>()?;
    let parsed = written.iter().map(ModelFiles::parse).collect::<Result<Vec<_>>>()?;
    let mut models = vec![Candidate::load("stored", &stored).with_context(file)?];
    for (form, contents) in forms.iter().zip(&parsed) {
        models.push(Candidate::of(form, contents)?);
    }
    let reference = Candidate::load("bf16", &bf16)?;

    let Measured { perplexity, rows } =
        measure::measure(&settings, &reference, &models, &texts, args.window as usize, args.gen_len as usize)?;
    let report = Report {
        model: texts::name_of(&args.model),
        sha256: sha256::of_sources(source.sources()),
        tier: settings.driver().tier().name(),
        tokens: texts.ids.len(),
        window: args.window as usize,
        prompts: texts.prompts.len(),
        gen_len: args.gen_len as usize,
        perplexity,
        bf16_bytes: reference.bytes,
        rows,
    };
    if let Some(plot) = plot {
        plot.write(plot::svg(&report)?.as_bytes())?;
    }
    files::print(&if args.json { report.json()? } else { report.to_string() })
}

/// What is compared.
fn forms(args: &Args, bf16: &Gguf<'_>) -> Result<Vec<Form>> {
    let matrices = bf16.tensors().iter().filter(|tensor| tensor.dims().len() == 2);
    let rows: Vec<u64> = matrices.map(|tensor| tensor.dims()[0]).collect();
    let mut forms: Vec<Form> = args.types.iter().copied().map(Form::Blocks).collect();
    for &path in &args.paths {
        let of_path = Form::of_path(path, &rows)?;
        let calibrated: Vec<Form> = of_path.iter().filter(|_| args.calibrate).filter_map(Form::calibrated).collect();
        forms.extend(of_path.into_iter().chain(calibrated));
    }
    Ok(forms)
}

/// Parses the name of a path.
fn path(name: &str) -> Result<PathKind, String> {
    name.parse().map_err(|error: keepq_tinygemm::select::SelectError| error.to_string())
}
