//! [`DecodeStream`]: ids to text as they come, in whole characters.

use super::{Tokenizer, TokenizerError};

/// Turns ids into text one by one.
///
/// A token can be a part of a character; what it has of one is kept until the rest arrives. All that
/// [`push`](Self::push) and [`finish`](Self::finish) return, one after another, is the text of all the ids (a space
/// at the beginning included), with `U+FFFD` for bytes that are no UTF-8 as [`String::from_utf8_lossy`] has it.
///
/// Made by [`Tokenizer::decode_stream`], where an example is.
#[derive(Debug)]
pub struct DecodeStream<'t, 'a> {
    tokenizer: &'t Tokenizer<'a>,
    /// The start of a character, and in `push` what the token adds to it.
    pending: Vec<u8>,
    text: String,
}

impl<'t, 'a> DecodeStream<'t, 'a> {
    pub(super) fn new(tokenizer: &'t Tokenizer<'a>) -> Self {
        Self { tokenizer, pending: Vec::new(), text: String::new() }
    }

    /// The text that is complete with this token; empty where a character is not.
    ///
    /// # Errors
    /// [`TokenizerError::IdOutOfRange`] where the vocabulary does not have `id`; nothing is lost by it.
    pub fn push(&mut self, id: u32) -> Result<&str, TokenizerError> {
        self.tokenizer.append_bytes(id, &mut self.pending)?;
        self.text.clear();
        let mut done = 0;
        for chunk in self.pending.utf8_chunks() {
            let invalid_at = done + chunk.valid().len();
            let end = invalid_at + chunk.invalid().len();
            self.text.push_str(chunk.valid());
            if end == self.pending.len() && is_cut_short(chunk.invalid()) {
                done = invalid_at;
                break;
            }
            if !chunk.invalid().is_empty() {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
            done = end;
        }
        self.pending.drain(..done);
        Ok(&self.text)
    }

    /// What is left when no more tokens come: empty, or `U+FFFD` for a character that was never completed.
    #[must_use]
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// Whether bytes that are no UTF-8 yet can still become a character.
fn is_cut_short(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
