//! [`Model`]: the tensors of a file, each where it lies, with the shape that the metadata call for.

use keepq_blocks::GgmlType;
use keepq_gemm::{Reason, Residency, WeightStack};
use keepq_gguf::{Gguf, Tensor};
use keepq_tinygemm::select::Fit;

use crate::layers::{self, Store as _};
use crate::tensors::Tensors;
use crate::weights::{Embedding, Weight};
use crate::{Config, Experts, ModelError};

/// A model, ready to run: views into the mapped file. Sessions share it.
#[derive(Debug)]
pub struct Model<'a> {
    pub(crate) config: Config,
    /// One row a token; where the head is tied, the head's weights too.
    pub(crate) embedding: Embedding<'a>,
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) output_norm: Vec<f32>,
    pub(crate) head: Weight<'a>,
    pub(crate) rope_factors: Vec<f32>,
    pub(crate) report: LoadReport,
}

/// One transformer layer. What is optional is there or not as the architecture says.
#[derive(Debug)]
pub(crate) struct Layer<'a> {
    pub attention_norm: Vec<f32>,
    pub q: Projection<'a>,
    pub k: Projection<'a>,
    pub v: Projection<'a>,
    pub attention_output: Weight<'a>,
    pub attention_post_norm: Option<Vec<f32>>,
    pub feed_forward_norm: Vec<f32>,
    pub feed_forward: FeedForward<'a>,
    pub feed_forward_post_norm: Option<Vec<f32>>,
}

/// What makes queries, keys or values of the normed stream.
#[derive(Debug)]
pub(crate) struct Projection<'a> {
    pub weight: Weight<'a>,
    pub bias: Option<Vec<f32>>,
    /// Weights of the norm of each head.
    pub head_norm: Option<Vec<f32>>,
}

/// What follows attention.
#[derive(Debug)]
pub(crate) enum FeedForward<'a> {
    /// One block, through which all tokens go.
    Block(Block<'a>),
    /// Many, of which each token goes through a few.
    Experts(Mixture<'a>),
}

/// A gated feed-forward block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub gate: Weight<'a>,
    pub up: Weight<'a>,
    pub down: Weight<'a>,
}

/// Gated feed-forward blocks, a slice of each stack an expert.
#[derive(Debug)]
pub(crate) struct Mixture<'a> {
    pub experts: Experts,
    /// A row an expert: how well it suits a token.
    pub router: Weight<'a>,
    pub gate: WeightStack<'a>,
    pub up: WeightStack<'a>,
    pub down: WeightStack<'a>,
}

/// What loading did to memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Bytes of weights that are used where the file has them.
    pub kept_bytes: usize,
    /// Bytes allocated for weights that were expanded or interleaved.
    pub expanded_bytes: usize,
    /// The matrices, and stacks of them, that were.
    pub expansions: Vec<Expansion>,
    /// Bytes allocated for weights of a checkpoint that were converted for a 4-bit path.
    pub converted_bytes: usize,
    /// These weights.
    pub conversions: Vec<Conversion>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Weights of a checkpoint that were converted for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The weights' name.
    pub tensor: String,
    /// What became of them.
    pub fit: Fit,
    /// Bytes allocated.
    pub bytes: usize,
    /// Bytes among these of a copy in another order, and why it is there.
    pub copy: Option<(usize, Reason)>,
}

/// A matrix, or a stack, that is not used where the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The tensor.
    pub tensor: String,
    /// Its type in the file.
    pub ty: GgmlType,
    /// Bytes allocated.
    pub bytes: usize,
    /// Why.
    pub reason: Reason,
}

impl<'a> Model<'a> {
    /// Finds and checks every tensor. With [`Residency::Keep`] no weight is read or copied whose type has a kernel.
    ///
    /// # Errors
    /// [`ModelError`] naming the key or tensor that is missing, has another shape or an unsupported type, or has no
    /// place in the architecture.
    pub fn load(gguf: &Gguf<'a>, residency: Residency) -> Result<Self, ModelError> {
        Self::load_with(gguf, residency, |_| ())
    }

    /// As [`load`](Self::load), and `expanded` is called with each tensor as soon as it has been expanded: the file's own bytes of it
    /// are then no longer needed, and their memory can be given back, so that no more than one tensor is in memory twice. An
    /// embedding may still be read row by row.
    ///
    /// ```no_run
    /// use keepq_decoder::{Model, Settings};
    /// use keepq_gguf::{Source, open_set};
    ///
    /// let set = open_set("model.gguf", Source::map)?;
    /// let gguf = set.parse()?;
    /// let settings = Settings::from_env()?;
    /// let model = Model::load_with(&gguf, settings.residency(), |tensor| set.release(tensor))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_with(
        gguf: &Gguf<'a>,
        residency: Residency,
        expanded: impl Fn(&Tensor<'a>),
    ) -> Result<Self, ModelError> {
        let config = Config::from_gguf(gguf)?;
        let mut tensors = Tensors::of(gguf, residency, &expanded);

        let embedding = tensors.embedding(&config)?;
        let layers = (0..config.layers).map(|i| layers::layer(&mut tensors, i, &config)).collect::<Result<_, _>>()?;
        let output_norm = tensors.floats("output_norm.weight", config.embedding)?;
        let head = match gguf.tensor("output.weight") {
            Some(_) => tensors.weight("output.weight", embedding.n(), config.embedding)?,
            None => tensors.hold("token_embd.weight", embedding)?,
        };
        let rope_factors = match gguf.tensor("rope_freqs.weight") {
            Some(_) if config.architecture.rope_factors => {
                tensors.floats("rope_freqs.weight", config.rope_dimensions / 2)?
            }
            _ => Vec::new(),
        };
        let key = format!("{}.vocab_size", config.architecture.name);
        if let Some(found) = gguf.get::<u64>(&key)?
            && found != embedding.n() as u64
        {
            let (found, expected) = (found.to_string(), "the rows of \"token_embd.weight\"");
            return Err(ModelError::Key { key, found, expected });
        }
        let report = tensors.finish()?;
        let embedding = Embedding::Matrix(embedding);
        Ok(Self { config, embedding, layers, output_norm, head, rope_factors, report })
    }

    /// The numbers that describe the model.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Tokens in the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.embedding.n()
    }

    /// What loading did to memory.
    #[must_use]
    pub const fn report(&self) -> &LoadReport {
        &self.report
    }
}
