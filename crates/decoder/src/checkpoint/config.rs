//! [`read`]: `config.json` as the numbers that describe a model.

use keepq_dot::rows::RopePairs;
use serde_json::{Map, Value, json};

use crate::error::shown;
use crate::{Architecture, Config, Local, ModelError, Rope};

/// No published model comes near; what says more is damaged, and sizes computed from it would overflow.
const LARGEST: u64 = 1 << 24;

/// How far the waves of Llama 3.1 and 3.3, and of 3.2, are stretched.
const LLAMA3_FACTORS: [f64; 2] = [8.0, 32.0];

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
    // What Gemma's configurations leave out is another base than that of others.
    let base = if architecture == Architecture::GEMMA3 { 1e6 } else { 10_000.0 };
    let (rope, factors) = keys.rope("full_attention", "rope_theta", base, head)?;
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
        rope,
        local: keys.local(architecture, layers, head)?,
        context: keys.dimension("max_position_embeddings")?,
    };
    Ok((config, keys.dimension("vocab_size")?, factors))
}

/// Whether the head may be the embedding's: not where the configuration says that it is not.
pub(super) fn may_be_tied(config: &Map<String, Value>) -> bool {
    config.get("tie_word_embeddings") != Some(&Value::Bool(false))
}

/// `config.json` of a model with these numbers, its head not tied, and what angles are divided by, if by anything: what
/// [`Model::from_checkpoint`](crate::Model::from_checkpoint) reads as the same numbers. `None` where the architecture has no checkpoints that are read here, or angles are
/// divided by other numbers than those of Llama 3.
#[must_use]
pub fn checkpoint_config(config: &Config, vocabulary: usize, rope_factors: &[f32]) -> Option<Map<String, Value>> {
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
    if !rope_factors.is_empty() {
        put("rope_scaling", llama3_scaling(config, rope_factors)?);
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

/// The `rope_scaling` of a model of Llama 3's family whose angles are divided by these.
fn llama3_scaling(config: &Config, factors: &[f32]) -> Option<Value> {
    LLAMA3_FACTORS.into_iter().find_map(|factor| {
        let scaling = json!({
            "rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        });
        let found = Keys(scaling.as_object()?).llama3_factors(config.rope.base, config.rope_dimensions).ok()?;
        let same = found.iter().zip(factors).all(|(found, given)| (found - given).abs() <= 1e-4 * given.abs());
        (same && found.len() == factors.len()).then_some(scaling)
    })
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
        let kinds = self.value("layer_types").and_then(Value::as_array);
        if !architecture.sliding_windows && kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind != "full_attention"))
        {
            return Err(self.error("layer_types", "full_attention alone in this architecture"));
        }
        Ok(())
    }

    /// How positions become angles in layers of a kind, and what angles are divided by, pair by pair. Newer configurations have `rope_parameters`,
    /// perhaps an object for each kind of layers; older ones `rope_scaling`, and the base by the name `base_key`.
    fn rope(&self, layers: &str, base_key: &str, base: f32, head: usize) -> Result<(Rope, Vec<f32>), ModelError> {
        let parameters = self.value("rope_parameters");
        let of_layers = parameters.and_then(|parameters| parameters.get(layers)).or(parameters);
        let (name, value) = match of_layers {
            Some(value) => ("rope_parameters", Some(value)),
            // It is for layers that see everything.
            None => ("rope_scaling", self.value("rope_scaling").filter(|_| base_key == "rope_theta")),
        };
        let object = match value {
            None => &Map::new(),
            Some(value) => value.as_object().ok_or_else(|| self.error(name, "an object"))?,
        };
        let keys = Keys(object);
        let base =
            if of_layers.is_some() { keys.positive_or("rope_theta", base) } else { self.positive_or(base_key, base) }?;
        let kind = keys.value("rope_type").or_else(|| keys.value("type")).map(|kind| kind.as_str());
        match kind {
            None | Some(Some("default")) => Ok((Rope { base, scale: 1.0 }, Vec::new())),
            Some(Some("linear")) => Ok((Rope { base, scale: keys.positive("factor")? }, Vec::new())),
            Some(Some("llama3")) => Ok((Rope { base, scale: 1.0 }, keys.llama3_factors(base, head)?)),
            Some(_) => Err(self.error(name, "the type default, linear or llama3")),
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

    fn local(&self, architecture: Architecture, layers: usize, head: usize) -> Result<Option<Local>, ModelError> {
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
        let (rope, _) = self.rope("sliding_attention", "rope_local_base_freq", 10_000.0, head)?;
        Ok(Some(Local { window: self.dimension("sliding_window")?, rope }))
    }

    /// A value that is there and not null.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
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
        let found = self
            .value(key)
            .map_or("nothing".into(), |value| shown(&value.to_string()).replace(char::is_control, "\u{fffd}"));
        ModelError::Key { key: key.into(), found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of one of the architectures, with every number its own.
    fn config(architecture: Architecture, local: Option<Local>) -> Config {
        Config {
            architecture,
            layers: 12,
            embedding: 96,
            embedding_scale: if architecture.scales_embeddings { 96.0_f32.sqrt() } else { 1.0 },
            feed_forward: 160,
            experts: None,
            heads: 6,
            kv_heads: 3,
            head: 64,
            attention_scale: 1.0 / 8.0,
            norm_epsilon: 1e-5,
            rope_dimensions: 64,
            rope: Rope { base: 500_000.0, scale: 1.0 },
            local,
            context: 4096,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let neox = Architecture { rope_pairs: RopePairs::Neox, ..Architecture::LLAMA };
        let window = Local { window: 512, rope: Rope { base: 10_000.0, scale: 1.0 } };
        for (architecture, local) in [
            (neox, None),
            (Architecture::QWEN2, None),
            (Architecture::QWEN3, None),
            (Architecture::GEMMA3, Some(window)),
            (Architecture::GEMMA3, None),
        ] {
            let scaled = Config { rope: Rope { base: 1e4, scale: 4.0 }, ..config(architecture, local) };
            for config in [config(architecture, local), scaled] {
                let written = checkpoint_config(&config, 300, &[]).expect("a configuration");
                assert_eq!(read(&written).expect("a model"), (config, 300, Vec::new()));
            }
        }
        assert_eq!(checkpoint_config(&config(Architecture::QWEN3MOE, None), 300, &[]), None);
    }

    /// By the published formula, in double precision: waves that are kept, stretched, and blended.
    #[test]
    fn angles_of_llama_3_are_found_again() {
        let config = config(Architecture { rope_pairs: RopePairs::Neox, ..Architecture::LLAMA }, None);
        for factor in LLAMA3_FACTORS {
            let wave = |i: usize| 2.0 * std::f64::consts::PI * 500_000.0_f64.powf(2.0 * i as f64 / 64.0);
            let factors: Vec<f32> = (0..32)
                .map(|i| match wave(i) {
                    wave if wave < 2048.0 => 1.0,
                    wave if wave > 8192.0 => factor as f32,
                    wave => {
                        let smooth = (8192.0 / wave - 1.0) / 3.0;
                        (1.0 / ((1.0 - smooth) / factor + smooth)) as f32
                    }
                })
                .collect();
            assert!(factors.iter().any(|&f| f > 1.0 && f < factor as f32), "one is in between");
            let written = checkpoint_config(&config, 300, &factors).expect("a configuration");
            assert_eq!(written["rope_scaling"]["factor"], factor);
            let (_, _, found) = read(&written).expect("a model");
            assert!(found.iter().zip(&factors).all(|(a, b)| (a - b).abs() < 1e-4 * b), "{found:?} {factors:?}");
        }
        assert_eq!(checkpoint_config(&config, 300, &[2.0; 32]), None);
        assert_eq!(checkpoint_config(&config, 300, &[1.0; 3]), None);
    }
}
