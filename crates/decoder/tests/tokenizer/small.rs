//! The small vocabularies of `tests/data`, as files.

use keepq_gguf::write::{WriteError, Writer};
use serde::Deserialize;

/// The values of `tokenizer.ggml.pre` that there are vectors for, one for each way to split.
pub(crate) const PRE_TOKENIZERS: [&str; 6] = ["gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "default"];

#[derive(Clone, Deserialize)]
pub(crate) struct SmallVocabulary {
    pub(crate) tokens: Vec<String>,
    pub(crate) token_types: Vec<i32>,
    pub(crate) merges: Vec<String>,
    pub(crate) bos: u32,
    pub(crate) eos: u32,
}

impl SmallVocabulary {
    /// A thousand tokens of SmolLM2 and a few more; like SmolLM2's it has no token for 21 of the bytes.
    pub(crate) fn load() -> Self {
        serde_json::from_str(include_str!("../data/vocabulary.json")).expect("test data")
    }

    /// The same with a token for every byte, so that no text loses anything.
    pub(crate) fn with_every_byte() -> Self {
        let mut vocabulary = Self::load();
        for c in byte_alphabet() {
            if !vocabulary.tokens.contains(&c.to_string()) {
                vocabulary.tokens.push(c.to_string());
                vocabulary.token_types.push(1);
            }
        }
        vocabulary
    }

    /// A file of the vocabulary alone.
    pub(crate) fn file(&self, pre: &str) -> Vec<u8> {
        let mut writer = Writer::new();
        self.put(&mut writer, pre).expect("legal metadata");
        let mut bytes = Vec::new();
        writer.write_to(&mut bytes).expect("written to memory");
        bytes
    }

    fn put(&self, writer: &mut Writer<'_>, pre: &str) -> Result<(), WriteError> {
        writer.put("tokenizer.ggml.model", "gpt2")?;
        writer.put("tokenizer.ggml.pre", pre)?;
        writer.put("tokenizer.ggml.tokens", self.tokens.as_slice())?;
        writer.put("tokenizer.ggml.token_type", self.token_types.as_slice())?;
        writer.put("tokenizer.ggml.merges", self.merges.as_slice())?;
        writer.put("tokenizer.ggml.bos_token_id", self.bos)?;
        writer.put("tokenizer.ggml.eos_token_id", self.eos)
    }
}

/// Two thousand tokens with scores, of our own making: many equal scores, characters without a token, tokens of all
/// types that others are joined to.
#[derive(Deserialize)]
pub(crate) struct SpmVocabulary {
    pub(crate) tokens: Vec<String>,
    token_types: Vec<i32>,
    scores: Vec<f32>,
}

impl SpmVocabulary {
    pub(crate) fn load() -> Self {
        serde_json::from_str(include_str!("../data/spm_vocabulary.json")).expect("test data")
    }

    /// The same with every token standing for its text: none unused, none that keeps its U+2581 as it is.
    pub(crate) fn lossless() -> Self {
        let mut vocabulary = Self::load();
        for (token, ty) in vocabulary.tokens.iter_mut().zip(&mut vocabulary.token_types) {
            match (token.as_str(), *ty) {
                ("▁raw", _) => token.clear(),
                (_, 0 | 5) => *ty = 1,
                _ => {}
            }
        }
        vocabulary
    }

    /// The same with nothing that is taken out of a text before the rest is split.
    pub(crate) fn without_user_defined(mut self) -> Self {
        self.token_types.iter_mut().filter(|ty| **ty == 4).for_each(|ty| *ty = 1);
        self
    }

    /// A file of the vocabulary, and what `put` adds.
    pub(crate) fn file(&self, put: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>) -> Vec<u8> {
        let mut writer = Writer::new();
        self.put(&mut writer).and_then(|()| put(&mut writer)).expect("legal metadata");
        let mut bytes = Vec::new();
        writer.write_to(&mut bytes).expect("written to memory");
        bytes
    }

    fn put(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        writer.put("tokenizer.ggml.model", "llama")?;
        writer.put("tokenizer.ggml.tokens", self.tokens.as_slice())?;
        writer.put("tokenizer.ggml.token_type", self.token_types.as_slice())?;
        writer.put("tokenizer.ggml.scores", self.scores.as_slice())
    }
}

/// GPT-2's characters for the bytes, as its paper's code makes them.
fn byte_alphabet() -> Vec<char> {
    let visible = |byte: &u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let itself = (0..256).filter(visible);
    let moved = (0..256).filter(|byte| !visible(byte)).enumerate().map(|(n, _)| 256 + n as u32);
    itself.chain(moved).filter_map(char::from_u32).collect()
}
