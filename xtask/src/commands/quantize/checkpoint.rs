//! `quantize` to the forms of checkpoints: a folder with safetensors, `config.json` and the vocabulary.

mod output;
mod report;
mod source;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_checkpoint::{CONFIG_FILE, MODEL_FILE, Recipe};
use serde_json::Value;

use super::Args;
use crate::files;
use crate::interrupt::RemovedOnInterrupt;
use crate::model_files::{Contents, ModelFiles, VOCABULARY_FILE};
use output::{Output, Outputs};
use report::Report;
use source::Model;

/// Writes the folder that the arguments ask for.
pub(super) fn run(args: &Args, recipe: Recipe) -> Result<()> {
    let files = ModelFiles::open(&args.from, false)?;
    let contents = files.parse()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build()?;
    let mut report = write_folder(&contents, recipe, args.kept_floats(), &args.out, &pool)
        .with_context(|| args.from.display().to_string())?;
    let before = files.sources().iter().map(|source| source.as_bytes().len() as u64).sum();
    (report.from, report.bytes_before) = (args.from.display().to_string(), before);
    report.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    files::print(&if args.json { serde_json::to_string(&report)? + "\n" } else { report.to_string() })
}

/// What is left as floats.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeptFloats {
    /// The head, tied to the embedding where it was.
    pub(crate) head: bool,
    /// The embedding.
    pub(crate) embedding: bool,
}

/// Quantizes a model into a new folder, which is there whole or not at all.
pub(crate) fn write_folder(
    contents: &Contents<'_>,
    recipe: Recipe,
    kept: KeptFloats,
    out: &Path,
    pool: &rayon::ThreadPool,
) -> Result<Report> {
    ensure!(!out.exists(), "{} is in the way", out.display());
    let model = Model::of(contents)?;
    let outputs = Outputs::plan(&model, recipe, kept)?;
    let mut config = model.config.clone();
    config.insert("tie_word_embeddings".into(), Value::Bool(outputs.tied));
    config.insert("torch_dtype".into(), Value::String("bfloat16".into()));
    let mut quantization = recipe.config();
    if !outputs.tied && outputs.head_is_quantized {
        // GPTQ's readers ask for it.
        quantization.insert("lm_head".into(), Value::Bool(true));
    }
    config.insert("quantization_config".into(), Value::Object(quantization));

    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new()
        .prefix(".keepq-checkpoint")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(parent)
        .with_context(|| format!("cannot write in the folder {}", parent.display()))?;
    let _interrupt = RemovedOnInterrupt::new(folder.path());
    let progress = ProgressBar::new(outputs.work())
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{bar:30} {percent}% ({elapsed}) {msg}")?);
    let tensors = pool.install(|| outputs.finish(&model, &progress))?;
    pool.install(|| write_tensors(&tensors, &folder.path().join(MODEL_FILE)))?;
    fs::write(folder.path().join(CONFIG_FILE), serde_json::to_string_pretty(&config)? + "\n")?;
    write_vocabulary(contents, &folder.path().join(VOCABULARY_FILE))?;

    let report = Report::of(&outputs, &tensors, recipe, out);
    fs::rename(folder.path(), out).with_context(|| format!("cannot write {}", out.display()))?;
    let _moved = folder.keep();
    Ok(report)
}

/// Tensors by their names; their bytes are made one tensor after the other while the file is written.
fn write_tensors(tensors: &[Output<'_>], path: &Path) -> Result<()> {
    let views = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let metadata = [("format".to_owned(), "pt".to_owned())].into();
    let describe = || path.display().to_string();
    safetensors::serialize_to_file(views, Some(metadata), path).with_context(describe)?;
    // The library writes a private file.
    fs::set_permissions(path, Permissions::from_mode(0o644)).with_context(describe)
}

/// The metadata of a GGUF file without its tensors.
fn write_vocabulary(contents: &Contents<'_>, path: &Path) -> Result<()> {
    let mut writer = keepq_gguf::write::Writer::new();
    for (key, value) in contents.vocabulary().metadata().filter(|(key, _)| !super::SPLIT_KEYS.contains(key)) {
        writer.put(key, value)?;
    }
    if let Err(error) = writer.write_file(path) {
        bail!("{}: {error}", path.display());
    }
    Ok(())
}
