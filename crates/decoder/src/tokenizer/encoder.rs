//! [`Encoder`]: the tables that text is encoded with.

use super::bpe::Bpe;
use super::pre_tokenizer::PreTokenizerRules;
use super::special::{Fragment, SpecialTokens};
use super::spm::Spm;
use super::token_table::TextIds;
use super::tokens::Tokens;
use super::vocabulary::{Vocabulary, models};
use super::{Special, TokenizerError};
use crate::error::shown;

/// What `tokenizer.ggml.model` and `tokenizer.ggml.pre` ask for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rules {
    /// `gpt2`.
    Bpe(&'static PreTokenizerRules),
    /// `llama`.
    Spm,
}

impl Rules {
    /// The rules of a vocabulary, completed by the ids that they imply; an error where it lacks what they need.
    pub(super) fn of(vocabulary: &mut Vocabulary<'_>) -> Result<Self, TokenizerError> {
        match vocabulary.model {
            models::BPE => Bpe::check(vocabulary).map(Self::Bpe),
            models::SPM => Spm::check(vocabulary).map(|()| Self::Spm),
            other => Err(TokenizerError::UnsupportedModel { found: shown(other) }),
        }
    }

    /// Whether BOS is added where the file does not say.
    pub(super) const fn adds_bos(self) -> bool {
        match self {
            Self::Bpe(rules) => rules.adds_bos,
            Self::Spm => true,
        }
    }

    /// Whether a text gets a space before it, which is no part of it.
    pub(super) fn adds_space(self, vocabulary: &Vocabulary<'_>) -> bool {
        match self {
            Self::Bpe(_) => false,
            Self::Spm => Spm::adds_space(vocabulary),
        }
    }
}

/// The tables that text is encoded with; they are of the whole vocabulary, and take most of the time that a tokenizer does.
#[derive(Debug)]
pub(super) struct Encoder<'a> {
    ids: TextIds,
    special: SpecialTokens,
    algorithm: Algorithm<'a>,
}

#[derive(Debug)]
enum Algorithm<'a> {
    Bpe(Bpe<'a>),
    Spm(Spm),
}

impl<'a> Encoder<'a> {
    pub(super) fn new(rules: Rules, tokens: &Tokens<'a>, vocabulary: &Vocabulary<'a>) -> Result<Self, TokenizerError> {
        let ids = TextIds::of(tokens)?;
        let algorithm = match rules {
            Rules::Bpe(rules) => Algorithm::Bpe(Bpe::new(rules, vocabulary)),
            Rules::Spm => Algorithm::Spm(Spm::new(ids.table(tokens), vocabulary)?),
        };
        Ok(Self { ids, special: SpecialTokens::new(tokens, vocabulary.name), algorithm })
    }

    /// Appends the ids of a text.
    pub(super) fn encode(&self, tokens: &Tokens<'a>, text: &str, special: Special, ids: &mut Vec<u32>) {
        let table = self.ids.table(tokens);
        for fragment in self.special.split(table, text, special) {
            match (fragment, &self.algorithm) {
                (Fragment::Token(id), _) => ids.push(id),
                (Fragment::Text(text), Algorithm::Bpe(bpe)) => bpe.encode(table, text, ids),
                // Texts never follow each other, so each is the first or stands after a token: just where llama.cpp
                // puts the space.
                (Fragment::Text(text), Algorithm::Spm(spm)) => spm.encode(table, text, ids),
            }
        }
    }
}
