//! [`CheckpointFiles`]: the files of a checkpoint, mapped or read.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use keepq_gguf::{OpenError, Source};
use safetensors::SafeTensors;
use serde_json::{Map, Value};

use crate::{Checkpoint, CheckpointError};

/// What a model in one file is called.
pub const MODEL_FILE: &str = "model.safetensors";

/// What says which of several files a tensor is in.
pub const INDEX_FILE: &str = "model.safetensors.index.json";

/// What describes the model.
pub const CONFIG_FILE: &str = "config.json";

/// What older makers of GPTQ checkpoints say about quantization, where `config.json` does not.
const QUANTIZE_CONFIG_FILE: &str = "quantize_config.json";

/// Owns the bytes of a checkpoint's files; a [`Checkpoint`] borrows from it.
///
/// A checkpoint is a folder:
///
/// ```text
/// config.json                    what the model is, and how its weights are quantized
/// model.safetensors              its tensors; or
/// model.safetensors.index.json   which file each tensor is in, and model-00001-of-00003.safetensors …
/// ```
#[derive(Debug)]
pub struct CheckpointFiles {
    folder: PathBuf,
    config: Map<String, Value>,
    sources: Vec<Source>,
    /// For each tensor of an index its file, by its place in `sources`.
    index: Option<HashMap<String, usize>>,
}

impl CheckpointFiles {
    /// Opens the files of a folder by `open`: [`Source::map`], or [`Source::read`] for storage that others write to.
    ///
    /// # Errors
    /// [`CheckpointError`] where a file is missing, cannot be opened or is no JSON, or an index leads out of the folder.
    pub fn open(
        folder: impl AsRef<Path>,
        open: impl Fn(&Path) -> Result<Source, OpenError>,
    ) -> Result<Self, CheckpointError> {
        let folder = folder.as_ref();
        let mut config = read_json(&folder.join(CONFIG_FILE))?;
        let beside = folder.join(QUANTIZE_CONFIG_FILE);
        if !config.contains_key(crate::QUANTIZATION_KEY) && beside.exists() {
            config.insert(crate::QUANTIZATION_KEY.to_owned(), Value::Object(read_json(&beside)?));
        }

        let (model, index) = (folder.join(MODEL_FILE), folder.join(INDEX_FILE));
        let (sources, index) = if model.exists() {
            (vec![open(&model)?], None)
        } else if index.exists() {
            let (names, index) = read_index(&index)?;
            (names.iter().map(|name| open(&folder.join(name))).collect::<Result<_, _>>()?, Some(index))
        } else {
            return Err(CheckpointError::NoModel { folder: folder.into() });
        };
        Ok(Self { folder: folder.into(), config, sources, index })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files that hold tensors.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Parses and checks the headers.
    ///
    /// # Errors
    /// [`CheckpointError`] where a file is no safetensors file, the index and the files disagree, or the configuration's part about
    /// quantization cannot be followed.
    pub fn parse(&self) -> Result<Checkpoint<'_>, CheckpointError> {
        let files = self.sources.iter().map(parse_file).collect::<Result<Vec<_>, _>>()?;
        if let Some(index) = &self.index {
            let wrong = |tensor: &str, file: usize| CheckpointError::Index {
                tensor: tensor.to_owned(),
                file: self.sources[file].path().into(),
            };
            for (tensor, &file) in index {
                files[file].tensor(tensor).map_err(|_| wrong(tensor, file))?;
            }
            for (i, file) in files.iter().enumerate() {
                if let Some(tensor) = file.names().into_iter().find(|&name| index.get(name) != Some(&i)) {
                    return Err(wrong(tensor, i));
                }
            }
        }
        Checkpoint::new(&self.config, files)
    }

    /// Gives the memory of a tensor's bytes back to the system: [`Source::release`].
    pub fn release(&self, bytes: &[u8]) {
        for source in &self.sources {
            let file = source.as_bytes().as_ptr_range();
            let tensor = bytes.as_ptr_range();
            if file.start <= tensor.start && tensor.end <= file.end {
                let start = (tensor.start.addr() - file.start.addr()) as u64;
                source.release(start..start + bytes.len() as u64);
            }
        }
    }
}

/// The object that a file of JSON holds.
fn read_json(path: &Path) -> Result<Map<String, Value>, CheckpointError> {
    let source = Source::read(path)?;
    serde_json::from_slice(source.as_bytes()).map_err(|error| malformed(path, &error))
}

/// The files that an index names, and for each tensor which of them it is in.
fn read_index(path: &Path) -> Result<(Vec<String>, HashMap<String, usize>), CheckpointError> {
    let index = read_json(path)?;
    let Some(Value::Object(map)) = index.get("weight_map") else {
        let found = index.get("weight_map").map_or("nothing".into(), Value::to_string);
        return Err(CheckpointError::Key { key: "weight_map".into(), found, expected: "an object".into() });
    };
    let mut names = BTreeSet::new();
    for name in map.values() {
        match name.as_str() {
            Some(text) if is_file_name(text) => names.insert(text),
            text => {
                let name = text.map_or_else(|| name.to_string(), str::to_owned);
                return Err(CheckpointError::FileName { file: path.into(), name });
            }
        };
    }
    let names: Vec<_> = names.into_iter().collect();
    let place = |name: &Value| names.binary_search(&name.as_str()?).ok();
    let index = map.iter().filter_map(|(tensor, name)| Some((tensor.clone(), place(name)?))).collect();
    Ok((names.into_iter().map(str::to_owned).collect(), index))
}

/// Whether a name stays in the folder, and can be shown.
fn is_file_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let is_one = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    is_one && !name.contains(|letter: char| letter == '\\' || letter.is_control())
}

fn parse_file(source: &Source) -> Result<SafeTensors<'_>, CheckpointError> {
    SafeTensors::deserialize(source.as_bytes()).map_err(|error| match not_safetensors(source.as_bytes()) {
        Some(hint) => malformed(source.path(), &format_args!("{error} ({hint})")),
        None => malformed(source.path(), &error),
    })
}

/// What is often found in the place of a file of tensors, by its start.
fn not_safetensors(file: &[u8]) -> Option<&'static str> {
    const PAGE: &str = "a web page: the download was refused or redirected";
    const HINTS: [(&[u8], &str); 5] = [
        (b"version https://git-lfs", "a Git LFS pointer: fetch the file itself with `git lfs pull`"),
        (b"<!", PAGE),
        (b"<html", PAGE),
        (b"PK\x03\x04", "a ZIP archive, perhaps a PyTorch checkpoint: convert it to safetensors"),
        (b"GGUF", "a GGUF file"),
    ];
    HINTS.iter().find(|(start, _)| file.starts_with(start)).map(|&(_, hint)| hint)
}

fn malformed(file: &Path, error: &dyn std::fmt::Display) -> CheckpointError {
    CheckpointError::Malformed { file: file.into(), message: error.to_string() }
}
