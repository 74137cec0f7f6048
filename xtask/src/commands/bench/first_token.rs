//! From the start of a process to the first token after a short text: what a user waits for.
//!
//! Everything that a program does before it can answer is in it, alike for the arms and for llama.cpp: the process and its
//! libraries, loading, the tokenizer, a context, the prompt, the choice.

use std::process::Command;

use anyhow::{Context, Result};
use keepq_decoder::argmax;
use keepq_decoder::tokenizer::{Special, Tokenizer};
use serde::{Deserialize, Serialize};

use super::process;
use super::processor::{ENOUGH, ProcessorTime};
use super::run::{Decoder, milliseconds};

/// Tokens of the text, those that a file puts before every text among them.
pub(super) const TOKENS: usize = 5;

/// Tokens of English text are shorter on average in any vocabulary.
const MOST_CHARACTERS: usize = 64 * TOKENS;

/// The longest text of no more tokens than [`TOKENS`] that `text` begins with; its first character at least.
pub(super) fn text<'t>(tokenizer: &Tokenizer<'_>, text: &'t str) -> Result<&'t str> {
    let mut ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(MOST_CHARACTERS);
    let mut longest = ends.next().unwrap_or(0);
    for end in ends {
        if tokenizer.encode(&text[..end], Special::Parse)?.len() <= TOKENS {
            longest = end;
        }
    }
    Ok(&text[..longest])
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FirstToken {
    /// From before the process was started until it told the token.
    pub(super) ms: f64,
    /// The share of the processor time asked for that it got; none where the system does not tell.
    processor_share: Option<f64>,
}

impl FirstToken {
    /// A run that took so long and had the processor.
    #[cfg(test)]
    pub(super) const fn of(ms: f64) -> Self {
        Self { ms, processor_share: Some(1.0) }
    }

    /// Whether it had the processor. Where the system does not tell, nothing is known against it.
    pub(super) fn is_kept(&self) -> bool {
        self.processor_share.is_none_or(|share| share >= ENOUGH)
    }

    /// Starts a process that [`answer`]s, and measures.
    pub(super) fn measure(command: &mut Command) -> Result<Self> {
        let (answer, elapsed) = process::ask_and_time::<Answer>(command)?;
        Ok(Self { ms: milliseconds(elapsed), processor_share: answer.processor_share })
    }
}

/// What the process tells.
#[derive(Deserialize, Serialize)]
struct Answer {
    id: u32,
    prompt_len: usize,
    processor_share: Option<f64>,
}

/// Feeds the ids of the text, and tells the likeliest token at once.
pub(super) fn answer(decoder: &mut impl Decoder, prompt: &[u32]) -> Result<()> {
    let id = argmax(decoder.feed(prompt)?).context("all logits are NaN")?;
    let processor_share = ProcessorTime::now().and_then(|now| now.share_since(&ProcessorTime::default()));
    process::answer(&Answer { id, prompt_len: prompt.len(), processor_share })
}

#[cfg(test)]
mod tests {
    use keepq_decoder::tokenizer::Vocabulary;

    use super::*;

    #[test]
    fn the_text_is_as_long_as_it_can_be() {
        let tokenizer = Tokenizer::new(Vocabulary {
            model: "gpt2",
            pre: Some("gpt-2"),
            tokens: vec!["a", "b", "Ġ", "aa", "Ġa"].into(),
            merges: vec!["a a", "Ġ a"].into(),
            ..Vocabulary::default()
        })
        .expect("a tokenizer");
        // aa b Ġa b Ġa
        assert_eq!(text(&tokenizer, "aab ab ab").expect("ids"), "aab ab a");
        assert_eq!(text(&tokenizer, "ab").expect("ids"), "ab");
    }
}
