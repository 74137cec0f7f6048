//! [`Tokens`]: the text and type of every token, by id: what decoding needs.

use super::vocabulary::{TokenType, Vocabulary};

/// The text and type of every token. The texts stay in the file.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    texts: Vec<&'a str>,
    types: Vec<TokenType>,
}

impl<'a> Tokens<'a> {
    /// The tokens of a vocabulary, all of them normal where it does not say.
    pub(super) fn of(vocabulary: &Vocabulary<'a>) -> Self {
        let texts = vocabulary.tokens.to_vec();
        let types = match vocabulary.token_types.is_empty() {
            true => vec![TokenType::Normal; texts.len()],
            false => vocabulary.token_types.to_vec(),
        };
        Self { texts, types }
    }

    /// The text and type of a token.
    pub(super) fn get(&self, id: u32) -> Option<(&'a str, TokenType)> {
        let index = id as usize;
        Some((*self.texts.get(index)?, *self.types.get(index)?))
    }

    /// Every token.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &'a str, TokenType)> {
        (0..=u32::MAX).zip(&self.texts).zip(&self.types).map(|((id, &text), &ty)| (id, text, ty))
    }

    /// The texts, whose indices are the ids.
    pub(super) fn texts(&self) -> &[&'a str] {
        &self.texts
    }

    /// Makes a control token of one that the file says is none.
    pub(super) fn set_control(&mut self, id: u32) {
        if let Some(ty) = self.types.get_mut(id as usize) {
            *ty = TokenType::Control;
        }
    }
}
