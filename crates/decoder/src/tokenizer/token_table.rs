//! [`TokenTable`]: the tokens by id and by text: what encoding needs.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::TokenizerError;
use super::tokens::Tokens;
use super::vocabulary::TokenType;
use crate::error::shown;

/// The id of every text.
#[derive(Debug)]
pub(super) struct TextIds {
    /// Ids by the hash of their text: four bytes a token, the texts stay in the file.
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl TextIds {
    /// Those of `tokens`; an error where two have the same text.
    pub(super) fn of(tokens: &Tokens<'_>) -> Result<Self, TokenizerError> {
        let texts = tokens.texts();
        let hasher = DefaultHashBuilder::default();
        let hash = |id: &u32| hasher.hash_one(texts[*id as usize]);
        let mut ids = HashTable::with_capacity(texts.len());
        // A token without text is only a place in the numbering.
        for (id, text) in (0..=u32::MAX).zip(texts).filter(|(_, text)| !text.is_empty()) {
            match ids.entry(hash(&id), |&other| texts[other as usize] == *text, hash) {
                Entry::Vacant(place) => place.insert(id),
                Entry::Occupied(first) => {
                    let (text, first) = (shown(text), *first.get());
                    return Err(TokenizerError::DuplicateToken { text, first, second: id });
                }
            };
        }
        Ok(Self { ids, hasher })
    }

    /// The table of these tokens and their ids.
    pub(super) fn table<'t, 'a>(&'t self, tokens: &'t Tokens<'a>) -> TokenTable<'t, 'a> {
        TokenTable { tokens, ids: self }
    }
}

/// The text and type of every token, and the id of every text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenTable<'t, 'a> {
    tokens: &'t Tokens<'a>,
    ids: &'t TextIds,
}

impl<'t, 'a> TokenTable<'t, 'a> {
    /// The token with this text.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        let texts = self.tokens.texts();
        self.ids.ids.find(self.ids.hasher.hash_one(text), |&id| texts[id as usize] == text).copied()
    }

    /// The text and type of a token.
    pub(super) fn get(&self, id: u32) -> Option<(&'a str, TokenType)> {
        self.tokens.get(id)
    }

    /// Every token.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &'a str, TokenType)> + use<'t, 'a> {
        self.tokens.iter()
    }
}
