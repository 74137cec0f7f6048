//! [`ModelFiles`]: a model as a person names it, a GGUF file or the folder of a checkpoint.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use keepq_checkpoint::{Checkpoint, CheckpointFiles, Method};
use keepq_decoder::tokenizer::Tokenizer;
use keepq_decoder::{Config, Model, select_path};
use keepq_gemm::Residency;
use keepq_gguf::{Gguf, Source, SourceSet};
use keepq_simd::probe;
use keepq_tinygemm::select::{Policy, Selection};

use crate::runtime;

/// The file in a checkpoint's folder that has the vocabulary: a GGUF file without tensors.
pub(crate) const VOCABULARY_FILE: &str = "vocab.gguf";

/// The files of a model.
pub(crate) enum ModelFiles {
    Gguf(SourceSet),
    Checkpoint { files: CheckpointFiles, vocabulary: SourceSet },
}

/// What these files hold.
pub(crate) enum Contents<'a> {
    Gguf(&'a SourceSet, Gguf<'a>),
    Checkpoint { files: &'a CheckpointFiles, checkpoint: Checkpoint<'a>, vocabulary: Gguf<'a> },
}

/// How a model is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Of a GGUF file.
    pub(crate) residency: Residency,
    /// Of a checkpoint; none for the default.
    pub(crate) policy: Option<Policy>,
}

impl ModelFiles {
    /// Opens a GGUF file, or any file of a set, or a checkpoint's folder; mapped unless it is to be read into memory.
    pub(crate) fn open(path: &Path, no_mmap: bool) -> Result<Self> {
        if !path.is_dir() {
            return Ok(Self::Gguf(runtime::open(path, no_mmap)?));
        }
        let open = |path: &Path| if no_mmap { Source::read(path) } else { Source::map(path) };
        let files = CheckpointFiles::open(path, open)?;
        let vocabulary = path.join(VOCABULARY_FILE);
        ensure!(
            vocabulary.exists(),
            "{}: {VOCABULARY_FILE} is missing: a GGUF file of the same model, or of its vocabulary alone, by this name",
            path.display()
        );
        Ok(Self::Checkpoint { files, vocabulary: runtime::open(&vocabulary, no_mmap)? })
    }

    pub(crate) fn parse(&self) -> Result<Contents<'_>> {
        Ok(match self {
            Self::Gguf(set) => Contents::Gguf(set, set.parse()?),
            Self::Checkpoint { files, vocabulary } => {
                let checkpoint = files.parse().with_context(|| files.folder().display().to_string())?;
                Contents::Checkpoint { files, checkpoint, vocabulary: vocabulary.parse()? }
            }
        })
    }

    /// All files that hold weights.
    pub(crate) fn sources(&self) -> &[Source] {
        match self {
            Self::Gguf(set) => set.sources(),
            Self::Checkpoint { files, .. } => files.sources(),
        }
    }

    /// What a peer, or a process of this program, opens the model by.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Gguf(set) => set.sources()[0].path().to_owned(),
            Self::Checkpoint { files, .. } => files.folder().to_owned(),
        }
    }
}

impl<'a> Contents<'a> {
    /// Loads the model, and says by which path it is multiplied, if by one of 4 bits.
    pub(crate) fn load(&self, held: Held) -> Result<(Model<'a>, Option<Selection>)> {
        match self {
            Self::Gguf(set, gguf) => {
                if let Some(policy) = held.policy {
                    bail!(
                        "the path {policy} is one of checkpoints, which are folders: `quantize` makes one of this file"
                    );
                }
                Ok((Model::load_with(gguf, held.residency, |tensor| set.release(tensor))?, None))
            }
            Self::Checkpoint { files, checkpoint, .. } => {
                // Floats stay what they are unless a path is named.
                let policy = match checkpoint.quantization().method {
                    Method::None => held.policy,
                    _ => Some(held.policy.unwrap_or_default()),
                };
                let selection = policy.map(|policy| select_path(checkpoint, &probe(), policy)).transpose()?;
                let path = selection.as_ref().map(|selection| selection.path);
                let model = Model::from_checkpoint(checkpoint, path, |tensor| files.release(tensor.bytes()))?;
                Ok((model, selection))
            }
        }
    }

    /// What has the vocabulary.
    pub(crate) const fn vocabulary(&self) -> &Gguf<'a> {
        match self {
            Self::Gguf(_, gguf) | Self::Checkpoint { vocabulary: gguf, .. } => gguf,
        }
    }

    /// The numbers that describe the model.
    pub(crate) fn config(&self) -> Result<Config> {
        Ok(match self {
            Self::Gguf(_, gguf) => Config::from_gguf(gguf)?,
            Self::Checkpoint { checkpoint, .. } => Config::from_checkpoint(checkpoint)?,
        })
    }

    pub(crate) fn tokenizer(&self) -> Result<Tokenizer<'_>> {
        Ok(Tokenizer::from_gguf(self.vocabulary())?)
    }
}

/// Parses a path or a policy.
pub(crate) fn policy(name: &str) -> Result<Policy, String> {
    name.parse().map_err(|error: keepq_tinygemm::select::SelectError| error.to_string())
}
