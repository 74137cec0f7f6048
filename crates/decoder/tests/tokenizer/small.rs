//! The small vocabulary of `tests/data`, as a file.

use keepq_gguf::write::Writer;
use serde::Deserialize;

/// The values of `tokenizer.ggml.pre` that there are vectors for, one for each way to split.
pub(crate) const PRE_TOKENIZERS: [&str; 5] = ["gpt-2", "smollm", "llama-bpe", "qwen2", "default"];

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

    fn put(&self, writer: &mut Writer<'_>, pre: &str) -> Result<(), keepq_gguf::write::WriteError> {
        writer.put("tokenizer.ggml.model", "gpt2")?;
        writer.put("tokenizer.ggml.pre", pre)?;
        writer.put("tokenizer.ggml.tokens", self.tokens.as_slice())?;
        writer.put("tokenizer.ggml.token_type", self.token_types.as_slice())?;
        writer.put("tokenizer.ggml.merges", self.merges.as_slice())?;
        writer.put("tokenizer.ggml.bos_token_id", self.bos)?;
        writer.put("tokenizer.ggml.eos_token_id", self.eos)
    }
}

/// GPT-2's characters for the bytes, as its paper's code makes them.
fn byte_alphabet() -> Vec<char> {
    let visible = |byte: &u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let itself = (0..256).filter(visible);
    let moved = (0..256).filter(|byte| !visible(byte)).enumerate().map(|(n, _)| 256 + n as u32);
    itself.chain(moved).filter_map(char::from_u32).collect()
}
