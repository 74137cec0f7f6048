//! [`Config`]: the numbers that describe a model, read from metadata and checked.

use keepq_dot::rows::RopePairs;
use keepq_gguf::{FromValue, Gguf};

use crate::ModelError;

/// The numbers that describe a model. Every one was checked: dimensions are positive and fit each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `general.architecture`.
    pub architecture: String,
    /// Transformer layers.
    pub layers: usize,
    /// Elements of the residual stream.
    pub embedding: usize,
    /// Elements between the two halves of a feed-forward block.
    pub feed_forward: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Elements of a head.
    pub head: usize,
    /// Added to the mean square in RMS norms.
    pub norm_epsilon: f32,
    /// Base of the rotary embedding.
    pub rope_base: f32,
    /// Elements of a head that are rotated.
    pub rope_dimensions: usize,
    /// How the rotated elements are paired.
    pub rope_pairs: RopePairs,
    /// Positions are divided by this before they are rotated.
    pub rope_scale: f32,
    /// Positions that the model was trained for.
    pub context: usize,
}

/// No published model comes near; a file that says more is damaged, and sizes computed from it would overflow.
const LARGEST: usize = 1 << 24;

impl Config {
    /// Reads and checks the metadata.
    ///
    /// # Errors
    /// [`ModelError`] naming the key that is missing, of another type, or out of range.
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<Self, ModelError> {
        let architecture: &str = gguf.require("general.architecture")?;
        let rope_pairs = match architecture {
            "llama" => RopePairs::Interleaved,
            other => return Err(key_error("general.architecture", other, "an architecture implemented here (llama)")),
        };
        let keys = Keys { gguf, architecture };
        if keys.optional::<u64>("expert_count")?.is_some_and(|experts| experts > 0) {
            return Err(key_error(&keys.name("expert_count"), "experts", "a model without a mixture of experts"));
        }

        // The key of linear scaling before `rope.scaling`: silently ignored, results would be wrong.
        if keys.optional::<f32>("rope.scale_linear")?.is_some_and(|scale| scale != 1.0) {
            return Err(keys.error(
                "rope.scale_linear",
                "another number",
                "1; rope.scaling says how positions are scaled",
            ));
        }

        let embedding = keys.dimension("embedding_length")?;
        let heads = keys.dimension("attention.head_count")?;
        let kv_heads = keys.dimension_or("attention.head_count_kv", heads)?;
        if !heads.is_multiple_of(kv_heads) {
            return Err(keys.error("attention.head_count_kv", kv_heads, "a divisor of the query heads"));
        }
        let head = match keys.optional::<u64>("attention.key_length")? {
            Some(_) => keys.dimension("attention.key_length")?,
            None if embedding.is_multiple_of(heads) => embedding / heads,
            None => return Err(keys.error("attention.head_count", heads, "a divisor of the embedding length")),
        };
        if keys.dimension_or("attention.value_length", head)? != head {
            return Err(keys.error("attention.value_length", "another length", "the length of a key"));
        }
        let rope_dimensions = keys.dimension_or("rope.dimension_count", head)?;
        if rope_dimensions > head || rope_dimensions % 2 == 1 {
            return Err(keys.error("rope.dimension_count", rope_dimensions, "an even number up to the head's length"));
        }
        let rope_scale = match keys.optional::<&str>("rope.scaling.type")? {
            None | Some("none") => 1.0,
            Some("linear") => keys.positive("rope.scaling.factor")?,
            Some(other) => return Err(keys.error("rope.scaling.type", other, "none or linear")),
        };
        Ok(Self {
            layers: keys.dimension("block_count")?,
            embedding,
            feed_forward: keys.dimension("feed_forward_length")?,
            heads,
            kv_heads,
            head,
            norm_epsilon: keys.positive("attention.layer_norm_rms_epsilon")?,
            rope_base: keys
                .optional::<f32>("rope.freq_base")?
                .map_or(Ok(10_000.0), |_| keys.positive("rope.freq_base"))?,
            rope_dimensions,
            rope_pairs,
            rope_scale,
            context: keys.dimension("context_length")?,
            architecture: architecture.to_owned(),
        })
    }

    /// Elements of all query heads together.
    #[must_use]
    pub const fn q_width(&self) -> usize {
        self.heads * self.head
    }

    /// Elements of all key heads together, and of all value heads.
    #[must_use]
    pub const fn kv_width(&self) -> usize {
        self.kv_heads * self.head
    }
}

/// Keys below the architecture's own name.
struct Keys<'g, 'a> {
    gguf: &'g Gguf<'a>,
    architecture: &'a str,
}

impl<'a> Keys<'_, 'a> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn error(&self, key: &str, found: impl ToString, expected: &'static str) -> ModelError {
        key_error(&self.name(key), found, expected)
    }

    fn optional<T: FromValue<'a>>(&self, key: &str) -> Result<Option<T>, ModelError> {
        Ok(self.gguf.get(&self.name(key))?)
    }

    fn dimension(&self, key: &str) -> Result<usize, ModelError> {
        self.check_dimension(key, self.gguf.require(&self.name(key))?)
    }

    fn dimension_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        self.optional(key)?.map_or(Ok(default), |found| self.check_dimension(key, found))
    }

    fn check_dimension(&self, key: &str, found: u64) -> Result<usize, ModelError> {
        match usize::try_from(found) {
            Ok(dimension @ 1..=LARGEST) => Ok(dimension),
            _ => Err(self.error(key, found, "1 to 16777216")),
        }
    }

    fn positive(&self, key: &str) -> Result<f32, ModelError> {
        let found: f32 = self.gguf.require(&self.name(key))?;
        if found > 0.0 && found.is_finite() { Ok(found) } else { Err(self.error(key, found, "a positive number")) }
    }
}

fn key_error(key: &str, found: impl ToString, expected: &'static str) -> ModelError {
    ModelError::Key { key: key.to_owned(), found: found.to_string(), expected }
}
