//! The prompt: a fixed English text, as long as it is asked for.

use anyhow::{Result, ensure};
use keepq_decoder::tokenizer::{Special, Tokenizer};

pub(super) const TEXT: &str = include_str!("prompt.txt");

/// The first `len` ids of the text, which is repeated where it is too short.
pub(super) fn ids(tokenizer: &Tokenizer<'_>, len: usize) -> Result<Vec<u32>> {
    let mut ids = tokenizer.encode(TEXT, Special::Plain)?;
    ensure!(!ids.is_empty(), "the tokenizer has no tokens for English text");
    while ids.len() < len {
        tokenizer.encode_into(TEXT, Special::Plain, &mut ids)?;
    }
    ids.truncate(len);
    Ok(ids)
}
