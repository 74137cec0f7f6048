//! Models from checkpoints: folders with safetensors files and a `config.json`.

mod config;
mod names;
mod store;

use keepq_checkpoint::{Checkpoint, Method, Tensor};
use keepq_tinygemm::select::{Config as PathConfig, Device, Path, Policy, Selection, Stored, select};

pub use config::checkpoint_config;
pub use names::checkpoint_name;

use crate::layers::{self, Store as _};
use crate::weights::Embedding;
use crate::{Config, Model, ModelError};
use store::Tensors;

impl<'a> Model<'a> {
    /// As [`load`](Self::load), of a checkpoint. Its weights are converted for `path` one after the other, or used where they lie if they are what
    /// the path takes; `None` leaves weights that are floats as they are. `converted` is called with each tensor as soon as its bytes are needed
    /// no longer.
    ///
    /// ```no_run
    /// use keepq_checkpoint::CheckpointFiles;
    /// use keepq_decoder::{Model, select_path};
    /// use keepq_gguf::Source;
    /// use keepq_simd::probe;
    /// use keepq_tinygemm::select::Policy;
    ///
    /// let files = CheckpointFiles::open("model", |path| Source::map(path))?;
    /// let checkpoint = files.parse()?;
    /// let selection = select_path(&checkpoint, &probe(), Policy::Speed)?;
    /// println!("{selection}");
    /// let model = Model::from_checkpoint(&checkpoint, Some(selection.path), |tensor| files.release(tensor.bytes()))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelError`] naming the key or tensor that is missing, has another shape or another type, does not fit the path, or has no
    /// place in the architecture.
    pub fn from_checkpoint(
        checkpoint: &Checkpoint<'a>,
        path: Option<Path>,
        converted: impl Fn(&Tensor<'a>),
    ) -> Result<Self, ModelError> {
        let (config, vocabulary, rope_factors) = config::read(checkpoint.config())?;
        let mut tensors = Tensors::of(checkpoint, &config, path, &converted);
        let embedding = tensors.linear("token_embd.weight", vocabulary, config.embedding)?;
        let layers = (0..config.layers).map(|i| layers::layer(&mut tensors, i, &config)).collect::<Result<_, _>>()?;
        let output_norm = tensors.floats("output_norm.weight", config.embedding)?;
        let head = if tensors.has("output.weight") || !config::may_be_tied(checkpoint.config()) {
            tensors.weight("output.weight", vocabulary, config.embedding)?
        } else {
            tensors.tied_head(embedding.clone())?
        };
        let report = tensors.finish()?;
        Ok(Self { config, embedding: Embedding::Linear(embedding), layers, output_norm, head, rope_factors, report })
    }
}

impl Config {
    /// Reads and checks a checkpoint's `config.json`.
    ///
    /// # Errors
    /// [`ModelError`] naming the key that is missing, of another type, out of range, or asks for what is not implemented.
    pub fn from_checkpoint(checkpoint: &Checkpoint<'_>) -> Result<Self, ModelError> {
        Ok(config::read(checkpoint.config())?.0)
    }
}

/// The path for a checkpoint on a machine, and why.
///
/// # Errors
/// [`ModelError::Select`] where no path can be taken, and [`ModelError`] of the configuration.
pub fn select_path(checkpoint: &Checkpoint<'_>, device: &Device, policy: Policy) -> Result<Selection, ModelError> {
    let (config, vocabulary, _) = config::read(checkpoint.config())?;
    let quantization = checkpoint.quantization();
    let stored = with_matrices(checkpoint.stored(), &config, vocabulary, quantization.config);
    // One scale a row is as good as one for every group.
    let stored = if quantization.method == Method::Int4 { Stored { w4a8: stored.w4a8, ..stored } } else { stored };
    select(device, policy, &stored, &quantization.config).map_err(ModelError::Select)
}

/// What paths make of the weights with the shapes that a model has.
fn with_matrices(stored: Stored, config: &Config, vocabulary: usize, path: PathConfig) -> Stored {
    let (embedding, group) = (config.embedding, path.group_size);
    let shapes = [
        (config.q_width(), embedding),
        (config.kv_width(), embedding),
        (embedding, config.q_width()),
        (config.feed_forward, embedding),
        (embedding, config.feed_forward),
        (vocabulary, embedding),
    ];
    shapes.into_iter().fold(stored, |stored, (n, k)| stored.with_matrix(n, k, group))
}
