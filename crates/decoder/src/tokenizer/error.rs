//! [`TokenizerError`]: why a tokenizer cannot be made from a file, or an id has no text.

use core::fmt;

use keepq_gguf::GgufError;

use super::pre_tokenizer::PRE_TOKENIZERS;

/// What is wrong with a file's tokenizer metadata, or with an id. One line of text that names the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenizerError {
    /// A key is missing, or its value is of another type than the tokenizer needs.
    Metadata(GgufError),
    /// A key that this kind of tokenizer cannot do without is missing or empty.
    Missing {
        /// The key.
        key: &'static str,
    },
    /// `tokenizer.ggml.model` names an algorithm that is not implemented.
    UnsupportedModel {
        /// The value.
        found: String,
    },
    /// `tokenizer.ggml.pre` names a pre-tokenizer that is not implemented. Guessing another would give wrong ids.
    UnsupportedPreTokenizer {
        /// The value.
        found: String,
    },
    /// An array has fewer elements than there are tokens.
    ArrayTooShort {
        /// The array's key.
        key: &'static str,
        /// Tokens.
        expected: usize,
        /// Elements.
        found: usize,
    },
    /// A token's score is not a number, so that it has no place in the order of scores.
    ScoreNotANumber {
        /// The token.
        id: u32,
    },
    /// Two tokens have the same text, so that the text has no one id.
    DuplicateToken {
        /// The text.
        text: String,
        /// The first id.
        first: u32,
        /// The second id.
        second: u32,
    },
    /// A key's token id is not in the vocabulary.
    SpecialIdOutOfRange {
        /// The key.
        key: &'static str,
        /// Its value.
        id: u32,
        /// Tokens.
        tokens: usize,
    },
    /// An id to be decoded is not in the vocabulary.
    IdOutOfRange {
        /// The id.
        id: u32,
        /// Tokens.
        tokens: usize,
    },
}

impl From<GgufError> for TokenizerError {
    fn from(error: GgufError) -> Self {
        Self::Metadata(error)
    }
}

impl fmt::Display for TokenizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata(error) => error.fmt(f),
            Self::Missing { key } => write!(f, "key {key:?}: not in the file or empty, and the tokenizer needs it"),
            Self::UnsupportedModel { found } => {
                write!(
                    f,
                    "key \"tokenizer.ggml.model\": tokenizer {found:?} is not supported, expected \"gpt2\" or \"llama\""
                )
            }
            Self::UnsupportedPreTokenizer { found } => {
                write!(f, "key \"tokenizer.ggml.pre\": pre-tokenizer {found:?} is not supported, expected one of ")?;
                let names = PRE_TOKENIZERS.iter().flat_map(|rules| rules.names);
                names.enumerate().try_for_each(|(i, name)| write!(f, "{}{name}", if i == 0 { "" } else { ", " }))
            }
            Self::ArrayTooShort { key, expected, found } => {
                write!(f, "key {key:?}: expected an element for each of the {expected} tokens, found {found}")
            }
            Self::ScoreNotANumber { id } => {
                write!(f, "key \"tokenizer.ggml.scores\": the score of token {id} is not a number")
            }
            Self::DuplicateToken { text, first, second } => {
                write!(f, "key \"tokenizer.ggml.tokens\": tokens {first} and {second} have the same text {text:?}")
            }
            Self::SpecialIdOutOfRange { key, id, tokens } => {
                write!(f, "key {key:?}: token id {id} is out of range, the vocabulary has {tokens} tokens")
            }
            Self::IdOutOfRange { id, tokens } => {
                write!(f, "token id {id} is out of range, the vocabulary has {tokens} tokens")
            }
        }
    }
}

impl core::error::Error for TokenizerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // Its text is this error's text already.
            Self::Metadata(error) => error.source(),
            _ => None,
        }
    }
}
