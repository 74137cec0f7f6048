//! [`Keys`]: reading metadata below the architecture's own name, and refusing what is not implemented.

use keepq_gguf::{FromValue, Gguf, Value};

use crate::{Architecture, ModelError};

/// No published model comes near; a file that says more is damaged, and sizes computed from it would overflow.
const LARGEST: usize = 1 << 24;

/// Keys with which a file asks for what is not implemented, whatever its architecture. To ignore one silently would give
/// wrong results.
const NOT_IMPLEMENTED: [(&str, Neutral, &str); 13] = [
    ("rope.scale_linear", Neutral::Float(1.0), "1; rope.scaling says how positions are scaled"),
    ("rope.scaling.attn_factor", Neutral::Float(1.0), "1; attention is not scaled with positions"),
    ("attn_logit_softcapping", Neutral::Float(0.0), "0; soft caps are not implemented"),
    ("router_logit_softcapping", Neutral::Float(0.0), "0; soft caps are not implemented"),
    ("final_logit_softcapping", Neutral::Float(0.0), "0; soft caps are not implemented"),
    ("attention.clamp_kqv", Neutral::Float(0.0), "0; clamps are not implemented"),
    ("attention.max_alibi_bias", Neutral::Float(0.0), "0; positions are rotary"),
    ("attention.causal", Neutral::Bool(true), "true; a decoder sees no later token"),
    ("expert_gating_func", Neutral::AtMost(1), "1; experts are chosen by softmax"),
    ("expert_weights_norm", Neutral::Bool(true), "true; the weights of chosen experts sum to one"),
    ("expert_shared_count", Neutral::AtMost(0), "0; shared experts are not implemented"),
    ("expert_group_count", Neutral::AtMost(1), "1 at most; groups of experts are not implemented"),
    ("nextn_predict_layers", Neutral::AtMost(0), "0; prediction of several tokens is not implemented"),
];

/// The values of a key that change nothing.
#[derive(Clone, Copy)]
enum Neutral {
    Float(f32),
    AtMost(u64),
    Bool(bool),
}

/// Keys below the architecture's own name.
pub(crate) struct Keys<'g, 'a> {
    gguf: &'g Gguf<'a>,
    architecture: Architecture,
}

impl<'g, 'a> Keys<'g, 'a> {
    /// The keys of the file's architecture.
    pub(crate) fn of(gguf: &'g Gguf<'a>) -> Result<Self, ModelError> {
        let key = "general.architecture";
        let name: &str = gguf.require(key)?;
        let architecture = Architecture::named(name).ok_or_else(|| {
            key_error(key, name, "an architecture implemented here (llama, qwen2, qwen3, qwen3moe, gemma3)")
        })?;
        Ok(Self { gguf, architecture })
    }

    pub(crate) const fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// Refuses a file that asks for what is not implemented.
    pub(crate) fn refuse_what_is_not_implemented(&self) -> Result<(), ModelError> {
        NOT_IMPLEMENTED.iter().try_for_each(|&(key, neutral, expected)| match neutral {
            Neutral::Float(neutral) => self.only(key, neutral, expected),
            Neutral::AtMost(neutral) => match self.optional::<u64>(key)? {
                Some(found) if found > neutral => Err(self.error(key, found, expected)),
                _ => Ok(()),
            },
            Neutral::Bool(neutral) => self.only(key, neutral, expected),
        })
    }

    /// Refuses any value of `key` but `wanted`.
    pub(crate) fn only<T>(&self, key: &str, wanted: T, expected: &'static str) -> Result<(), ModelError>
    where
        T: FromValue<'a> + PartialEq + ToString,
    {
        match self.optional::<T>(key)? {
            Some(found) if found != wanted => Err(self.error(key, found, expected)),
            _ => Ok(()),
        }
    }

    pub(crate) fn error(&self, key: &str, found: impl ToString, expected: &'static str) -> ModelError {
        key_error(&self.name(key), found, expected)
    }

    pub(crate) fn optional<T: FromValue<'a>>(&self, key: &str) -> Result<Option<T>, ModelError> {
        Ok(self.gguf.get(&self.name(key))?)
    }

    /// A value of any type.
    pub(crate) fn value(&self, key: &str) -> Option<Value<'a>> {
        self.gguf.value(&self.name(key))
    }

    /// A number that counts or measures something: positive.
    pub(crate) fn dimension(&self, key: &str) -> Result<usize, ModelError> {
        self.check_dimension(key, self.gguf.require(&self.name(key))?)
    }

    pub(crate) fn dimension_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        self.optional(key)?.map_or(Ok(default), |found| self.check_dimension(key, found))
    }

    pub(crate) fn positive(&self, key: &str) -> Result<f32, ModelError> {
        self.check_positive(key, self.gguf.require(&self.name(key))?)
    }

    pub(crate) fn positive_or(&self, key: &str, default: f32) -> Result<f32, ModelError> {
        self.optional(key)?.map_or(Ok(default), |found| self.check_positive(key, found))
    }

    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture.name)
    }

    fn check_dimension(&self, key: &str, found: u64) -> Result<usize, ModelError> {
        match usize::try_from(found) {
            Ok(dimension @ 1..=LARGEST) => Ok(dimension),
            _ => Err(self.error(key, found, "1 to 16777216")),
        }
    }

    fn check_positive(&self, key: &str, found: f32) -> Result<f32, ModelError> {
        if found > 0.0 && found.is_finite() { Ok(found) } else { Err(self.error(key, found, "a positive number")) }
    }
}

fn key_error(key: &str, found: impl ToString, expected: &'static str) -> ModelError {
    ModelError::Key { key: key.to_owned(), found: found.to_string(), expected }
}
