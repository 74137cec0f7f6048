//! [`Config`]: the numbers that describe a model, read from metadata and checked.

use keepq_gguf::{Array, Gguf, Value};

use crate::keys::Keys;
use crate::{Architecture, ModelError};

/// The numbers that describe a model. Every one was checked: dimensions are positive and fit each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What the model has beside what all have.
    pub architecture: Architecture,
    /// Transformer layers.
    pub layers: usize,
    /// Elements of the residual stream.
    pub embedding: usize,
    /// What embeddings are multiplied by.
    pub embedding_scale: f32,
    /// Elements between the two halves of a feed-forward block; where there are experts, of each of them.
    pub feed_forward: usize,
    /// How feed-forward blocks are mixed; `None` where each is one block.
    pub experts: Option<Experts>,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Elements of a head.
    pub head: usize,
    /// What products of queries and keys are multiplied by.
    pub attention_scale: f32,
    /// Added to the mean square in RMS norms.
    pub norm_epsilon: f32,
    /// Elements of a head that are rotated.
    pub rope_dimensions: usize,
    /// How positions become angles.
    pub rope: Rope,
    /// The layers that see a window; `None` where all see the whole context.
    pub local: Option<Local>,
    /// Positions that the model was trained for.
    pub context: usize,
}

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Experts of a layer.
    pub count: usize,
    /// Those that a token goes to.
    pub used: usize,
    /// What their weights, which sum to one, are multiplied by.
    pub weight_scale: f32,
}

/// How positions become angles: `position / scale * base^(-2 i / dimensions)` for pair `i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    /// Base of the rotary embedding.
    pub base: f32,
    /// Positions are divided by this before they are rotated.
    pub scale: f32,
}

/// Layers that see the last positions only, in a pattern of five and one that sees all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    /// Positions that a token sees, its own included.
    pub window: usize,
    /// How positions become angles in these layers.
    pub rope: Rope,
}

/// Of so many layers one, the last, sees the whole context.
const PATTERN: usize = 6;

/// Several times what published models have; buffers have a row for each expert that a token goes to.
const MOST_EXPERTS: usize = 4096;

impl Config {
    /// Reads and checks the metadata.
    ///
    /// # Errors
    /// [`ModelError`] naming the key that is missing, of another type, out of range, or asks for what is not implemented.
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<Self, ModelError> {
        let keys = Keys::of(gguf)?;
        keys.refuse_what_is_not_implemented()?;
        let architecture = keys.architecture();

        let layers = keys.dimension("block_count")?;
        let embedding = keys.dimension("embedding_length")?;
        let experts = experts(&keys)?;
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
        keys.only("attention.value_length", head as u64, "the length of a key")?;
        let rope_dimensions = keys.dimension_or("rope.dimension_count", head)?;
        if rope_dimensions > head || rope_dimensions % 2 == 1 {
            return Err(keys.error("rope.dimension_count", rope_dimensions, "an even number up to the head's length"));
        }
        Ok(Self {
            architecture,
            layers,
            embedding,
            embedding_scale: if architecture.scales_embeddings { (embedding as f32).sqrt() } else { 1.0 },
            feed_forward: keys.dimension(match experts {
                Some(_) => "expert_feed_forward_length",
                None => "feed_forward_length",
            })?,
            experts,
            heads,
            kv_heads,
            head,
            attention_scale: 1.0 / (attention_length(architecture, layers, embedding / heads, head) as f32).sqrt(),
            norm_epsilon: keys.positive("attention.layer_norm_rms_epsilon")?,
            rope_dimensions,
            rope: Rope { base: keys.positive_or("rope.freq_base", 10_000.0)?, scale: rope_scale(&keys)? },
            local: local(&keys, layers, head, rope_dimensions)?,
            context: keys.dimension("context_length")?,
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

    /// What layer `layer` sees, where that is not the whole context.
    #[must_use]
    pub fn local(&self, layer: usize) -> Option<Local> {
        self.local.filter(|_| is_local(layer))
    }
}

const fn is_local(layer: usize) -> bool {
    layer % PATTERN < PATTERN - 1
}

/// The length by whose square root scores are divided: a head's, but in the largest Gemma 3, which no key tells apart, what
/// the embedding would give each head.
fn attention_length(architecture: Architecture, layers: usize, share: usize, head: usize) -> usize {
    if architecture == Architecture::GEMMA3 && layers == 62 { share } else { head }
}

fn experts(keys: &Keys<'_, '_>) -> Result<Option<Experts>, ModelError> {
    if !keys.architecture().experts {
        keys.only("expert_count", 0_u64, "a model without a mixture of experts")?;
        return Ok(None);
    }
    let count = keys.dimension("expert_count")?;
    if count > MOST_EXPERTS {
        return Err(keys.error("expert_count", count, "1 to 4096"));
    }
    let used = keys.dimension("expert_used_count")?;
    if used > count {
        return Err(keys.error("expert_used_count", used, "no more than there are experts"));
    }
    Ok(Some(Experts { count, used, weight_scale: keys.positive_or("expert_weights_scale", 1.0)? }))
}

fn rope_scale(keys: &Keys<'_, '_>) -> Result<f32, ModelError> {
    match keys.optional::<&str>("rope.scaling.type")? {
        Some("none") => Ok(1.0),
        Some("linear") => keys.positive("rope.scaling.factor"),
        // A factor alone means linear scaling, in llama.cpp too.
        None => keys.positive_or("rope.scaling.factor", 1.0),
        Some(other) => Err(keys.error("rope.scaling.type", other, "none or linear")),
    }
}

fn local(keys: &Keys<'_, '_>, layers: usize, head: usize, rope_dimensions: usize) -> Result<Option<Local>, ModelError> {
    let window = "attention.sliding_window";
    if !keys.architecture().sliding_windows {
        keys.only(window, 0_u64, "no sliding window in this architecture")?;
        return Ok(None);
    }
    if matches!(keys.optional::<u64>(window)?, None | Some(0)) {
        return Ok(None);
    }
    let pattern = "attention.sliding_window_pattern";
    let implemented = "every sixth layer without a window";
    match keys.value(pattern) {
        None => {}
        Some(Value::Array(array)) if follows_pattern(array, layers) => {}
        Some(Value::Array(array)) => return Err(keys.error(pattern, array, implemented)),
        Some(_) => keys.only(pattern, PATTERN as u64, implemented)?,
    }
    keys.only("attention.key_length_swa", head as u64, "the length of other layers' keys")?;
    keys.only("attention.value_length_swa", head as u64, "the length of other layers' values")?;
    keys.only("rope.dimension_count_swa", rope_dimensions as u64, "the rotated elements of other layers")?;
    let rope = Rope { base: keys.positive_or("rope.freq_base_swa", 10_000.0)?, scale: 1.0 };
    Ok(Some(Local { window: keys.dimension(window)?, rope }))
}

/// Whether an array says of each layer what the pattern says.
fn follows_pattern(array: Array<'_>, layers: usize) -> bool {
    array.items::<bool>().is_ok_and(|items| items.eq((0..layers).map(is_local)))
}
