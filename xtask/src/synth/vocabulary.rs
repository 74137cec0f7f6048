//! The vocabulary: the 256 bytes, some pairs of letters, invented words where it is to be large, two marks.

use keepq_gguf::write::{WriteError, Writer};

/// Pairs that the merges join, most frequent in English first; `Ġ` is a space.
const PAIRS: &[&str] = &[
    "Ġ t", "h e", "i n", "Ġ a", "r e", "o n", "Ġt he", "e r", "Ġ s", "a t", "Ġ w", "Ġ o", "e n", "Ġ c", "i t", "i s",
    "a n", "o r", "e s", "Ġ b", "e d", "Ġ f", "in g", "Ġ p", "o u", "Ġa n", "a l", "a r", "Ġ m", "Ġo f", "Ġ in", "Ġ d",
    "Ġ h", "Ġan d", "i c", "a s", "l e", "Ġt o", "o m", "l l", "en t", "Ġ l", "Ġ n", "Ġ re", "i on", "v e", "Ġb e",
    "o t", "s t", "i d", "Ġ g", "i l", "Ġ is", "u t", "at ion", "Ġ e", "c t", "a y", "o w", "Ġf or", "r o", "i g",
];

/// Marks of the model: no text.
const MARKS: [&str; 2] = ["<|begin|>", "<|endoftext|>"];

/// `tokenizer.ggml.token_type`: a piece of text, and a mark.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;

/// A byte-level vocabulary in the manner of GPT-2.
pub(super) struct Vocabulary {
    pub(super) tokens: Vec<String>,
}

/// What invented words are put together from: `ba` to `zu`.
const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
const VOWELS: &[u8; 5] = b"aeiou";
const SYLLABLES: usize = CONSONANTS.len() * VOWELS.len();

/// Syllables of a word: longer than any of the pairs, so that no word is one.
const WORD: u32 = 3;

impl Vocabulary {
    pub(super) fn new() -> Self {
        Self::with_words(0)
    }

    /// With this many invented words, up to a million. No merge makes one of a text: they are what the model says.
    pub(super) fn with_words(count: usize) -> Self {
        assert!(count <= SYLLABLES.pow(WORD), "there are not {count} different words");
        let bytes = byte_characters().map(String::from);
        let pairs = PAIRS.iter().map(|pair| pair.replace(' ', ""));
        let words = (0..count).map(word);
        let marks = MARKS.map(str::to_owned);
        Self { tokens: bytes.into_iter().chain(pairs).chain(words).chain(marks).collect() }
    }

    /// The tokens that are plain text.
    pub(super) fn words(&self) -> Vec<usize> {
        let visible = 256..self.tokens.len() - MARKS.len();
        (b'a'..=b'z').map(usize::from).chain(visible).collect()
    }

    /// Adds the tokenizer's keys.
    pub(super) fn put(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let text = self.tokens.len() - MARKS.len();
        let types: Vec<i32> = (0..self.tokens.len()).map(|id| if id < text { NORMAL } else { CONTROL }).collect();
        writer.put("tokenizer.ggml.model", "gpt2")?;
        writer.put("tokenizer.ggml.pre", "gpt-2")?;
        writer.put("tokenizer.ggml.tokens", &self.tokens[..])?;
        writer.put("tokenizer.ggml.token_type", &types[..])?;
        writer.put("tokenizer.ggml.merges", PAIRS)?;
        writer.put("tokenizer.ggml.bos_token_id", text as u32)?;
        writer.put("tokenizer.ggml.eos_token_id", text as u32 + 1)?;
        writer.put("tokenizer.ggml.add_bos_token", false)
    }
}

/// The word of this number: a space and syllables, such as ` bacedu`.
fn word(number: usize) -> String {
    let syllables = (0..WORD).rev().flat_map(|place| {
        let syllable = number / SYLLABLES.pow(place) % SYLLABLES;
        [CONSONANTS[syllable / VOWELS.len()], VOWELS[syllable % VOWELS.len()]]
    });
    std::iter::once('Ġ').chain(syllables.map(char::from)).collect()
}

/// GPT-2's character for each byte: itself where it is visible, else the next one from U+0100 on.
fn byte_characters() -> [char; 256] {
    let mut invisible = '\u{100}'..;
    std::array::from_fn(|byte| match byte as u8 {
        visible @ (b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff) => visible.into(),
        _ => invisible.next().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// llama.cpp ends the process where two tokens have the same text.
    #[test]
    fn tokens_are_different_from_each_other() {
        let Vocabulary { tokens } = Vocabulary::with_words(20_000);
        assert_eq!(tokens.len(), 256 + PAIRS.len() + 20_000 + MARKS.len());
        assert_eq!(tokens.iter().collect::<HashSet<_>>().len(), tokens.len());
        assert_eq!(tokens[256 + PAIRS.len()..][..2], ["Ġbababa", "Ġbababe"]);
        assert_eq!(tokens[tokens.len() - 2..], MARKS);
    }
}
