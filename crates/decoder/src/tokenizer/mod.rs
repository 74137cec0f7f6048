//! Text to token ids and back, with the vocabulary that a GGUF file carries; ids equal llama.cpp's.
//!
//! ```text
//! gpt2:   text -> special tokens taken out -> words -> pieces of words -> ids
//!                 special                     pre_tokenizer   bpe
//! llama:  text -> special tokens taken out -> pieces of text -> ids
//!                 special                     spm
//! ```
//!
//! The first is byte-level byte-pair encoding (GPT-2, Llama 3, Qwen, SmolLM), the second SentencePiece's (Llama 2,
//! Mistral, Gemma). In both, neighbouring pieces are joined by the same rule (`symbols`): the best pair first.
//!
//! The strings of the vocabulary stay where the file has them, and a [`Tokenizer`] does no more than it is asked for: it is
//! made by a look at some keys; the first id that is decoded makes a list of borrowed texts, and the first text that is
//! encoded a hash table of numbers over it, and over the merges.
//!
//! Other values of `tokenizer.ggml.model` than `gpt2` and `llama` are an error that names them.

mod bpe;
mod byte_alphabet;
mod decode_stream;
mod encoder;
mod end_of_generation;
mod error;
mod list;
mod pre_tokenizer;
mod special;
mod spm;
mod symbols;
mod token_table;
mod tokens;
mod vocabulary;

use std::sync::OnceLock;

use keepq_gguf::Gguf;

pub use decode_stream::DecodeStream;
pub use error::TokenizerError;
pub use list::List;
pub use vocabulary::{TokenType, Vocabulary};

use bpe::Bpe;
use encoder::{Encoder, Rules};
use spm::Spm;
use tokens::Tokens;
use vocabulary::keys;

/// What to do where a text spells out a control token such as `<|im_end|>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// It is that token: for prompts that a chat template has written.
    Parse,
    /// It is text like any other: for what a user has typed. Tokens that the file marks as user-defined are
    /// still found; they are text.
    Plain,
}

/// Encodes text as ids, and decodes ids.
///
/// ```
/// use keepq_decoder::tokenizer::{Special, Tokenizer, Vocabulary};
///
/// let tokenizer = Tokenizer::new(Vocabulary {
///     model: "gpt2",
///     pre: Some("gpt-2"),
///     tokens: vec!["l", "o", "w", "e", "r", "Ġ", "lo", "er", "Ġlo"].into(),
///     merges: vec!["l o", "e r", "Ġ lo"].into(),
///     ..Vocabulary::default()
/// })?;
///
/// let ids = tokenizer.encode("low lower", Special::Parse)?;
/// assert_eq!(ids, [6, 2, 8, 2, 7]); // lo w Ġlo w er
/// assert_eq!(tokenizer.decode(&ids)?, "low lower");
/// # Ok::<(), keepq_decoder::tokenizer::TokenizerError>(())
/// ```
#[derive(Debug)]
pub struct Tokenizer<'a> {
    vocabulary: Vocabulary<'a>,
    rules: Rules,
    /// BOS, if every text begins with it.
    before: Option<u32>,
    /// EOS, if every text ends in it.
    after: Option<u32>,
    /// Made by the first id that is asked for.
    decoder: OnceLock<Decoder<'a>>,
    /// Made by the first text.
    encoder: OnceLock<Result<Encoder<'a>, TokenizerError>>,
}

/// What the ids stand for.
#[derive(Debug)]
struct Decoder<'a> {
    tokens: Tokens<'a>,
    /// Sorted.
    end_of_generation: Vec<u32>,
}

impl<'a> Tokenizer<'a> {
    /// Makes the tokenizer of a file.
    ///
    /// # Errors
    /// As [`Vocabulary::from_gguf`] and [`Tokenizer::new`].
    pub fn from_gguf(gguf: &Gguf<'a>) -> Result<Self, TokenizerError> {
        Self::new(Vocabulary::from_gguf(gguf)?)
    }

    /// Makes a tokenizer of its parts, in a time that does not depend on their size.
    ///
    /// # Errors
    /// [`TokenizerError`], which names the key: a model or pre-tokenizer that is not supported; no tokens, merges or
    /// scores; fewer types or scores than tokens; an id outside of the vocabulary; BOS or EOS to be added to every text,
    /// and no id for it. What is wrong with single tokens is for [`encode`](Self::encode) to say.
    pub fn new(mut vocabulary: Vocabulary<'a>) -> Result<Self, TokenizerError> {
        let rules = Rules::of(&mut vocabulary)?;
        let (tokens, types) = (vocabulary.tokens.len(), vocabulary.token_types.len());
        if tokens == 0 {
            return Err(TokenizerError::Missing { key: keys::TOKENS });
        }
        if (1..tokens).contains(&types) {
            return Err(TokenizerError::ArrayTooShort { key: keys::TOKEN_TYPES, expected: tokens, found: types });
        }
        if let Some(&(key, id)) = vocabulary.special_ids.iter().find(|(_, id)| *id as usize >= tokens) {
            return Err(TokenizerError::SpecialIdOutOfRange { key, id, tokens });
        }
        let added = |add: bool, key| match vocabulary.special_id(key) {
            None if add => Err(TokenizerError::Missing { key }),
            id => Ok(id.filter(|_| add)),
        };
        Ok(Self {
            before: added(vocabulary.add_bos.unwrap_or(rules.adds_bos()), keys::BOS)?,
            after: added(vocabulary.add_eos.unwrap_or(false), keys::EOS)?,
            rules,
            vocabulary,
            decoder: OnceLock::new(),
            encoder: OnceLock::new(),
        })
    }

    /// The ids of a whole text, with BOS before it and EOS after it where the file asks for them.
    ///
    /// Bytes that a `gpt2` vocabulary has no token for are left out, as llama.cpp leaves them out; a `llama`
    /// vocabulary has the unknown token for them. White space that follows special tokens of Phi-3 is left out too.
    ///
    /// The first text takes longer than others: tables of the whole vocabulary are made for it.
    ///
    /// # Errors
    /// [`TokenizerError`] where these cannot be made: [`DuplicateToken`](TokenizerError::DuplicateToken),
    /// [`ScoreNotANumber`](TokenizerError::ScoreNotANumber). The same for every text.
    pub fn encode(&self, text: &str, special: Special) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::from_iter(self.before);
        self.encode_into(text, special, &mut ids)?;
        ids.extend(self.after);
        Ok(ids)
    }

    /// Appends the ids of a text that continues another: no BOS, no EOS.
    ///
    /// A border between two such texts is like a special token: nothing is joined across it, and a vocabulary that
    /// puts a space before a text ([`Vocabulary::add_space_prefix`]) puts one here.
    ///
    /// # Errors
    /// As [`encode`](Self::encode); `ids` are as they were then.
    pub fn encode_into(&self, text: &str, special: Special, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        let tokens = self.tokens();
        let encoder = self.encoder.get_or_init(|| Encoder::new(self.rules, tokens, &self.vocabulary));
        encoder.as_ref().map_err(Clone::clone)?.encode(tokens, text, special, ids);
        Ok(())
    }

    /// What the ids stand for.
    fn decoder(&self) -> &Decoder<'a> {
        self.decoder.get_or_init(|| {
            let mut tokens = Tokens::of(&self.vocabulary);
            let end_of_generation = end_of_generation::find(&self.vocabulary, &mut tokens);
            Decoder { tokens, end_of_generation }
        })
    }

    fn tokens(&self) -> &Tokens<'a> {
        &self.decoder().tokens
    }

    /// The text of `ids`, control tokens spelled out; bytes that are no UTF-8 become `U+FFFD`.
    ///
    /// Where the vocabulary puts a space before a text, the one that the first token begins with is taken away again.
    ///
    /// # Errors
    /// [`TokenizerError::IdOutOfRange`].
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        let mut bytes = Vec::new();
        if let Some((&first, rest)) = ids.split_first() {
            self.append_bytes(first, &mut bytes)?;
            if self.rules.adds_space(&self.vocabulary) && bytes.starts_with(b" ") {
                bytes.remove(0);
            }
            rest.iter().try_for_each(|&id| self.append_bytes(id, &mut bytes))?;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Decodes ids one by one, as a model generates them.
    ///
    /// They continue a prompt, so that a space before the first word is a space between two, and stays.
    ///
    /// ```
    /// use keepq_decoder::tokenizer::{Tokenizer, Vocabulary};
    ///
    /// let tokenizer = Tokenizer::new(Vocabulary {
    ///     model: "gpt2",
    ///     pre: Some("gpt-2"),
    ///     tokens: vec!["Ã", "©"].into(), // the two bytes of é
    ///     merges: vec!["Ã ©"].into(),
    ///     ..Vocabulary::default()
    /// })?;
    ///
    /// let mut stream = tokenizer.decode_stream();
    /// assert_eq!(stream.push(0)?, "");
    /// assert_eq!(stream.push(1)?, "é");
    /// assert_eq!(stream.finish(), "");
    /// # Ok::<(), keepq_decoder::tokenizer::TokenizerError>(())
    /// ```
    #[must_use]
    pub fn decode_stream(&self) -> DecodeStream<'_, 'a> {
        DecodeStream::new(self)
    }

    /// The bytes that a token stands for, perhaps a part of a character; a control token is spelled out.
    ///
    /// # Errors
    /// [`TokenizerError::IdOutOfRange`].
    pub fn token_bytes(&self, id: u32) -> Result<Vec<u8>, TokenizerError> {
        let mut bytes = Vec::new();
        self.append_bytes(id, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends the bytes that a token stands for.
    fn append_bytes(&self, id: u32, bytes: &mut Vec<u8>) -> Result<(), TokenizerError> {
        let Some((text, ty)) = self.tokens().get(id) else {
            return Err(TokenizerError::IdOutOfRange { id, tokens: self.token_count() });
        };
        match (ty, self.rules) {
            (TokenType::Control | TokenType::UserDefined | TokenType::Unknown, _) => {
                bytes.extend_from_slice(text.as_bytes());
            }
            (TokenType::Normal, Rules::Bpe(_)) => Bpe::decode(text, bytes),
            (TokenType::Normal, Rules::Spm) => Spm::decode(text, bytes),
            (TokenType::Byte, _) => bytes.extend(hex_byte(text)),
            (TokenType::Unused | TokenType::Undefined, _) => {}
        }
        Ok(())
    }

    /// Tokens in the vocabulary; every smaller number is an id.
    #[must_use]
    pub fn token_count(&self) -> usize {
        self.vocabulary.tokens.len()
    }

    /// The token that begins a text, if the file names one.
    #[must_use]
    pub fn bos(&self) -> Option<u32> {
        self.vocabulary.special_id(keys::BOS)
    }

    /// The token that ends a text, if the file names one.
    #[must_use]
    pub fn eos(&self) -> Option<u32> {
        self.vocabulary.special_id(keys::EOS)
    }

    /// Whether a model that generates this token has finished: end of text, of turn, of message, and what llama.cpp
    /// counts among them by its text.
    #[must_use]
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.decoder().end_of_generation.binary_search(&id).is_ok()
    }

    /// Whether a token is a mark of the model rather than text; programs do not show these.
    #[must_use]
    pub fn is_control(&self, id: u32) -> bool {
        matches!(self.tokens().get(id), Some((_, TokenType::Control)))
    }
}

/// The byte that `<0x0A>` stands for.
fn hex_byte(text: &str) -> Option<u8> {
    u8::from_str_radix(text.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}
