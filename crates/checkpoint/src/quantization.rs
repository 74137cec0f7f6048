//! [`Quantization`]: what a configuration says about how weights are quantized.

use keepq_tinygemm::GROUPS;
use keepq_tinygemm::select::Config;
use serde_json::{Map, Value};

use crate::CheckpointError;

/// The key of `config.json`.
pub(crate) const QUANTIZATION_KEY: &str = "quantization_config";

/// How the weights of a checkpoint are quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Not at all.
    None,
    /// [`gptq`](crate::gptq).
    Gptq(ZeroPoints),
    /// [`awq`](crate::awq).
    Awq,
    /// Row-major codes, bf16 scales and offsets: [`keepq_tinygemm::w4a16::RowMajor`].
    CpuInt4,
    /// Records: [`keepq_tinygemm::w4a8`].
    W4A8,
    /// One scale a row: [`keepq_tinygemm::int4`].
    Int4,
}

/// How GPTQ checkpoints store a zero point `z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZeroPoints {
    /// `z - 1`, modulo 16: `checkpoint_format` is `gptq`, or missing.
    LessOne,
    /// `z`: `checkpoint_format` is `gptq_v2`.
    AsTheyAre,
}

impl Method {
    /// As `quant_method` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gptq(_) => "gptq",
            Self::Awq => "awq",
            Self::CpuInt4 => "cpu_int4",
            Self::W4A8 => "w4a8",
            Self::Int4 => "int4",
        }
    }
}

/// What a configuration says about how weights are quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantization {
    /// The form of the tensors.
    pub method: Method,
    /// Codes of a row that share a scale; `None`: all of them.
    pub group_size: Option<usize>,
    /// Whether all zero points are 8, as a GPTQ configuration says it; `false` where it does not say.
    pub symmetric: bool,
    /// The keys that say how weights are multiplied, and made where they have to be; those that are missing are as by default.
    pub config: Config,
}

impl Quantization {
    /// What `config.json` says. `quant_method` says which keys follow:
    ///
    /// | `quant_method` | keys, with what they are where they are missing |
    /// |---|---|
    /// | `gptq` | `bits` 4, `group_size` 128 (-1: the whole row), `sym` false, `checkpoint_format` `gptq` or `gptq_v2` |
    /// | `awq` | `bits` 4, `group_size` 128 (-1: the whole row), `version` `gemm` |
    /// | `cpu_int4`, `w4a8` | `group_size` 64 |
    /// | `int4` | `group_size` 64, of the embedding |
    ///
    /// Beside these the keys of [`Config`].
    ///
    /// # Errors
    /// [`CheckpointError::Key`] for one that holds what cannot be followed.
    pub fn from_config(config: &Map<String, Value>) -> Result<Self, CheckpointError> {
        let Some(value) = config.get(QUANTIZATION_KEY) else {
            return Ok(Self { method: Method::None, group_size: None, symmetric: false, config: Config::default() });
        };
        let Some(object) = value.as_object() else { return Err(wrong(QUANTIZATION_KEY, Some(value), "an object")) };
        let keys = Keys(object);
        // The older file of GPTQ's makers does not name its method.
        let named = keys.text("quant_method", if object.contains_key("desc_act") { "gptq" } else { "" })?;
        let method = match named {
            "gptq" => Method::Gptq(
                keys.one_of("checkpoint_format", &[("gptq", ZeroPoints::LessOne), ("gptq_v2", ZeroPoints::AsTheyAre)])?,
            ),
            "awq" => {
                keys.one_of("version", &[("gemm", ())])?;
                Method::Awq
            }
            "cpu_int4" => Method::CpuInt4,
            "w4a8" => Method::W4A8,
            "int4" => Method::Int4,
            _ => {
                return Err(keys.wrong("quant_method", "gptq, awq, cpu_int4, w4a8 or int4"));
            }
        };
        keys.bits()?;
        let group_size = match method {
            Method::Gptq(_) | Method::Awq => keys.group_size(128)?,
            // With one scale a row it is the embedding that has groups.
            Method::CpuInt4 | Method::W4A8 | Method::Int4 => keys.group_size(64)?,
            Method::None => None,
        };
        Ok(Self { method, group_size, symmetric: keys.flag("sym", false)?, config: keys.config(group_size)? })
    }
}

/// The keys of the object.
struct Keys<'a>(&'a Map<String, Value>);

impl<'a> Keys<'a> {
    fn text(&self, key: &str, default: &'a str) -> Result<&'a str, CheckpointError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_str().ok_or_else(|| self.wrong(key, "a text")),
        }
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool, CheckpointError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong(key, "true or false")),
        }
    }

    /// The meaning of a text, in any case; of the first where the key is missing.
    fn one_of<T: Copy>(&self, key: &str, meanings: &[(&'static str, T)]) -> Result<T, CheckpointError> {
        let found = self.text(key, meanings[0].0)?;
        let meaning = meanings.iter().find(|(text, _)| found.eq_ignore_ascii_case(text));
        let expected = || meanings.iter().map(|(text, _)| *text).collect::<Vec<_>>().join(" or ");
        meaning.map(|(_, meaning)| *meaning).ok_or_else(|| self.wrong(key, &expected()))
    }

    fn bits(&self) -> Result<(), CheckpointError> {
        match ["bits", "w_bit"].into_iter().find(|key| self.0.contains_key(*key)) {
            Some(key) if self.0[key].as_u64() != Some(4) => Err(self.wrong(key, "4")),
            _ => Ok(()),
        }
    }

    fn group_size(&self, default: usize) -> Result<Option<usize>, CheckpointError> {
        let key = if self.0.contains_key("q_group_size") { "q_group_size" } else { "group_size" };
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Some(default)),
            Some(value) => match value.as_i64() {
                Some(-1) => Ok(None),
                Some(size @ 1..=0x7fff_ffff) => Ok(Some(size as usize)),
                _ => Err(self.wrong(key, "a number of channels, or -1")),
            },
        }
    }

    /// With the group that weights have, where paths know one like it.
    fn config(&self, group_size: Option<usize>) -> Result<Config, CheckpointError> {
        let default = Config::default();
        let threshold = match self.0.get("dequant_threshold") {
            None | Some(Value::Null) => default.dequant_threshold,
            Some(value) => match value.as_u64().map(usize::try_from) {
                Some(Ok(threshold)) => threshold,
                _ => return Err(self.wrong("dequant_threshold", "a number of tokens")),
            },
        };
        Ok(Config {
            group_size: group_size.filter(|size| GROUPS.contains(size)).unwrap_or(default.group_size),
            quantize_embedding: self.flag("quantize_embedding", default.quantize_embedding)?,
            prefill_dequant: self.flag("prefill_dequant", default.prefill_dequant)?,
            direct_dequant: self.flag("direct_dequant", default.direct_dequant)?,
            dequant_threshold: threshold,
            use_custom_op: self.flag("use_custom_op", default.use_custom_op)?,
        })
    }

    fn wrong(&self, key: &str, expected: &str) -> CheckpointError {
        wrong(&format!("{QUANTIZATION_KEY}.{key}"), self.0.get(key), expected)
    }
}

fn wrong(key: &str, found: Option<&Value>, expected: &str) -> CheckpointError {
    let found = found.map_or("nothing".into(), Value::to_string);
    CheckpointError::Key { key: key.into(), found, expected: expected.into() }
}
