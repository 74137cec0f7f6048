//! [`read`]: `config.json` as the numbers that describe a model.

use keepq_dot::rows::RopePairs;
use serde_json::{Map, Value, json};

use crate::{Architecture, Config, Local, ModelError, Rope};

/// No published model comes near; what says more is damaged, and sizes computed from it would overflow.
const LARGEST: u64 = 1 << 24;

/// Of so many layers one, the last, sees the whole context, where windows slide.
const PATTERN: usize = 6;

/// The numbers of a model, the tokens in its vocabulary, and what its angles are divided by, pair by pair.
pub(super) fn read(config: &Map<String, Value>) -> Result<(Config, usize, Vec<f32>), ModelError> {
    let keys = Keys(config);
    let architecture = keys.architecture()?;
    keys.refuse_what_is_not_implemented(architecture)?;
    let embedding = keys.dimension("hidden_size")?;
    let heads = keys.dimension("num_attention_heads")?;
    let kv_heads = keys.dimension_or("num_key_value_heads", heads)?;
    if !heads.is_multiple_of(kv_heads) {
        return Err(keys.error("num_key_value_heads", "a divisor of the query heads"));
    }
    let head = match keys.value("head_dim") {
        Some(_) => keys.dimension("head_dim")?,
        None if embedding.is_multiple_of(heads) => embedding / heads,
        None => return Err(keys.error("num_attention_heads", "a divisor of the hidden size")),
    };
    if head % 2 == 1 {
        return Err(keys.error("head_dim", "an even number"));
    }
    let layers = keys.dimension("num_hidden_layers")?;
    let rope = Rope { base: keys.positive_or("rope_theta", 10_000.0)?, scale: 1.0 };
    let (scale, factors) = keys.rope_scaling(rope.base, head)?;
    let attention_length = keys.positive_or("query_pre_attn_scalar", head as f32)?;
    let config = Config {
        architecture,
        layers,
        embedding,
        embedding_scale: if architecture.scales_embeddings { (embedding as f32).sqrt() } else { 1.0 },
        feed_forward: keys.dimension("intermediate_size")?,
        experts: None,
        heads,
        kv_heads,
        head,
        attention_scale: 1.0 / attention_length.sqrt(),
        norm_epsilon: keys.positive_or("rms_norm_eps", 1e-6)?,
        rope_dimensions: head,
        rope: Rope { scale, ..rope },
        local: keys.local(architecture, layers)?,
        context: keys.dimension("max_position_embeddings")?,
    };
    Ok((config, keys.dimension("vocab_size")?, factors))
}

/// `config.json` of a model with these numbers, its head not tied: what [`read`] reads as the same numbers. `None` where the architecture has
/// no checkpoints that are read here.
#[must_use]
pub fn checkpoint_config(config: &Config, vocabulary: usize) -> Option<Map<String, Value>> {
    let (model_type, class) = match config.architecture.name {
        "llama" => ("llama", "LlamaForCausalLM"),
        "qwen2" => ("qwen2", "Qwen2ForCausalLM"),
        "qwen3" => ("qwen3", "Qwen3ForCausalLM"),
        "gemma3" => ("gemma3_text", "Gemma3ForCausalLM"),
        _ => return None,
    };
    let activation = if model_type == "gemma3_text" { "hidden_activation" } else { "hidden_act" };
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| drop(map.insert(key.to_owned(), value));
    put("architectures", json!([class]));
    put("model_type", json!(model_type));
    put("hidden_size", json!(config.embedding));
    put("intermediate_size", json!(config.feed_forward));
    put("num_hidden_layers", json!(config.layers));
    put("num_attention_heads", json!(config.heads));
    put("num_key_value_heads", json!(config.kv_heads));
    put("head_dim", json!(config.head));
    put("vocab_size", json!(vocabulary));
    put("max_position_embeddings", json!(config.context));
    put("rms_norm_eps", json!(config.norm_epsilon));
    put("rope_theta", json!(config.rope.base));
    put(activation, json!(if model_type == "gemma3_text" { "gelu_pytorch_tanh" } else { "silu" }));
    put("tie_word_embeddings", json!(false));
    if config.rope.scale != 1.0 {
        put("rope_scaling", json!({ "rope_type": "linear", "factor": config.rope.scale }));
    }
    if let Some(local) = config.local {
        put("sliding_window", json!(local.window));
        put("sliding_window_pattern", json!(PATTERN));
        put("rope_local_base_freq", json!(local.rope.base));
    }
    if model_type == "gemma3_text" {
        put("query_pre_attn_scalar", json!(1.0 / (config.attention_scale * config.attention_scale)));
    }
    Some(map)
}

struct Keys<'a>(&'a Map<String, Value>);

impl<'a> Keys<'a> {
    fn architecture(&self) -> Result<Architecture, ModelError> {
        // Checkpoints keep the halves of a head that are rotated together apart.
        let llama = Architecture { rope_pairs: RopePairs::Neox, ..Architecture::LLAMA };
        match self.value("model_type").and_then(Value::as_str) {
            Some("llama" | "mistral") => Ok(llama),
            Some("qwen2") => Ok(Architecture::QWEN2),
            Some("qwen3") => Ok(Architecture::QWEN3),
            Some("gemma3_text") => Ok(Architecture::GEMMA3),
            _ => Err(self.error("model_type", "llama, mistral, qwen2, qwen3 or gemma3_text")),
        }
    }

    /// Refuses a model that asks for what is not implemented: to ignore it silently would give wrong results.
    fn refuse_what_is_not_implemented(&self, architecture: Architecture) -> Result<(), ModelError> {
        let activation = if architecture == Architecture::GEMMA3 { "hidden_activation" } else { "hidden_act" };
        let activations: &[&str] =
            if architecture == Architecture::GEMMA3 { &["gelu_pytorch_tanh"] } else { &["silu", "swish"] };
        match self.value(activation) {
            Some(value) if !value.as_str().is_some_and(|name| activations.contains(&name)) => {
                return Err(self.error(activation, activations[0]));
            }
            _ => {}
        }
        for key in ["attention_bias", "mlp_bias", "use_sliding_window", "use_bidirectional_attention"] {
            if !matches!(self.value(key), None | Some(Value::Bool(false))) {
                return Err(self.error(key, "false; it is not implemented"));
            }
        }
        for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
            if self.value(key).is_some() {
                return Err(self.error(key, "nothing; soft caps are not implemented"));
            }
        }
        // Qwen's configurations name a window too, which another key switches on.
        if architecture.name == "llama" && self.value("sliding_window").is_some() {
            return Err(self.error("sliding_window", "nothing; windows are not implemented for this architecture"));
        }
        Ok(())
    }

    /// What positions are divided by, and angles, pair by pair.
    fn rope_scaling(&self, base: f32, head: usize) -> Result<(f32, Vec<f32>), ModelError> {
        let Some(scaling) = self.value("rope_scaling") else { return Ok((1.0, Vec::new())) };
        let Some(object) = scaling.as_object() else { return Err(self.error("rope_scaling", "an object")) };
        let keys = Keys(object);
        let kind = keys.value("rope_type").or_else(|| keys.value("type")).and_then(Value::as_str);
        match kind {
            Some("default") => Ok((1.0, Vec::new())),
            Some("linear") => Ok((keys.positive("factor")?, Vec::new())),
            Some("llama3") => Ok((1.0, keys.llama3_factors(base, head)?)),
            _ => Err(self.error("rope_scaling", "the type default, linear or llama3")),
        }
    }

    /// Llama 3.1's: long waves are stretched by `factor`, short ones kept, those in between blended.
    fn llama3_factors(&self, base: f32, head: usize) -> Result<Vec<f32>, ModelError> {
        let (factor, original) = (self.positive("factor")?, self.positive("original_max_position_embeddings")?);
        let (low, high) = (self.positive("low_freq_factor")?, self.positive("high_freq_factor")?);
        if high <= low {
            return Err(self.error("high_freq_factor", "more than low_freq_factor"));
        }
        Ok((0..head / 2)
            .map(|i| {
                let wave = 2.0 * std::f32::consts::PI * base.powf(2.0 * i as f32 / head as f32);
                if wave < original / high {
                    1.0
                } else if wave > original / low {
                    factor
                } else {
                    let smooth = (original / wave - low) / (high - low);
                    1.0 / ((1.0 - smooth) / factor + smooth)
                }
            })
            .collect())
    }

    fn local(&self, architecture: Architecture, layers: usize) -> Result<Option<Local>, ModelError> {
        if !architecture.sliding_windows || self.value("sliding_window").is_none() {
            return Ok(None);
        }
        let expected = "every sixth layer without a window";
        if let Some(pattern) = self.value("sliding_window_pattern")
            && pattern.as_u64() != Some(PATTERN as u64)
        {
            return Err(self.error("sliding_window_pattern", expected));
        }
        if let Some(types) = self.value("layer_types") {
            let is_local = |i: usize| i % PATTERN < PATTERN - 1;
            let name = |i| if is_local(i) { "sliding_attention" } else { "full_attention" };
            let found: Vec<_> = types.as_array().into_iter().flatten().map(Value::as_str).collect();
            if !found.iter().copied().eq((0..layers).map(|i| Some(name(i)))) {
                return Err(self.error("layer_types", expected));
            }
        }
        let rope = Rope { base: self.positive_or("rope_local_base_freq", 10_000.0)?, scale: 1.0 };
        Ok(Some(Local { window: self.dimension("sliding_window")?, rope }))
    }

    /// A value that is there and not null; newer configurations keep some of them below `rope_parameters`.
    fn value(&self, key: &str) -> Option<&'a Value> {
        let nested = || self.0.get("rope_parameters")?.get(key);
        self.0.get(key).or_else(nested).filter(|value| !value.is_null())
    }

    fn dimension(&self, key: &str) -> Result<usize, ModelError> {
        match self.value(key).and_then(Value::as_u64) {
            Some(dimension @ 1..=LARGEST) => Ok(dimension as usize),
            _ => Err(self.error(key, "1 to 16777216")),
        }
    }

    fn dimension_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        if self.value(key).is_some() { self.dimension(key) } else { Ok(default) }
    }

    fn positive(&self, key: &str) -> Result<f32, ModelError> {
        match self.value(key).and_then(Value::as_f64).map(|number| number as f32) {
            Some(number) if number > 0.0 && number.is_finite() => Ok(number),
            _ => Err(self.error(key, "a positive number")),
        }
    }

    fn positive_or(&self, key: &str, default: f32) -> Result<f32, ModelError> {
        if self.value(key).is_some() { self.positive(key) } else { Ok(default) }
    }

    fn error(&self, key: &str, expected: &'static str) -> ModelError {
        let found = self.value(key).map_or("nothing".into(), Value::to_string);
        ModelError::Key { key: key.into(), found, expected }
    }
}
