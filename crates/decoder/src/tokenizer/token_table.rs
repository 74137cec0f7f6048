//! [`TokenTable`]: the tokens by id and by text.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::TokenizerError;
use super::error::shown;
use super::vocabulary::{TokenType, Vocabulary, keys};

/// The text and type of every token, and the id of every text.
#[derive(Debug)]
pub(super) struct TokenTable<'a> {
    texts: Vec<&'a str>,
    types: Vec<TokenType>,
    /// Ids by the hash of their text: four bytes a token, the texts stay in the file.
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<'a> TokenTable<'a> {
    /// Takes the tokens out of `vocabulary`.
    pub(super) fn new(vocabulary: &mut Vocabulary<'a>) -> Result<Self, TokenizerError> {
        let texts = std::mem::take(&mut vocabulary.tokens);
        let mut types = std::mem::take(&mut vocabulary.token_types);
        if texts.is_empty() {
            return Err(TokenizerError::Missing { key: keys::TOKENS });
        }
        if types.is_empty() {
            types = vec![TokenType::Normal; texts.len()];
        }
        if types.len() < texts.len() {
            let (expected, found) = (texts.len(), types.len());
            return Err(TokenizerError::ArrayTooShort { key: keys::TOKEN_TYPES, expected, found });
        }

        let hasher = DefaultHashBuilder::default();
        let hash = |id: &u32| hasher.hash_one(texts[*id as usize]);
        let mut ids = HashTable::with_capacity(texts.len());
        // A token without text is only a place in the numbering.
        for (id, text) in (0..=u32::MAX).zip(&texts).filter(|(_, text)| !text.is_empty()) {
            match ids.entry(hash(&id), |&other| texts[other as usize] == *text, hash) {
                Entry::Vacant(place) => place.insert(id),
                Entry::Occupied(first) => {
                    let (text, first) = (shown(text), *first.get());
                    return Err(TokenizerError::DuplicateToken { text, first, second: id });
                }
            };
        }
        Ok(Self { texts, types, ids, hasher })
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The token with this text.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.ids.find(self.hasher.hash_one(text), |&id| self.texts[id as usize] == text).copied()
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

    /// Makes a control token of one that the file says is none.
    pub(super) fn set_control(&mut self, id: u32) {
        if let Some(ty) = self.types.get_mut(id as usize) {
            *ty = TokenType::Control;
        }
    }
}
