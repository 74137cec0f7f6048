//! [`Vocabulary`]: the parts of a file's metadata that a tokenizer is made from.

use std::borrow::Cow;

use keepq_gguf::{FromValue, Gguf, Items, Mismatch, Value, ValueType};

use super::{List, TokenizerError};

/// The metadata keys.
pub(super) mod keys {
    pub(crate) const NAME: &str = "general.name";
    pub(crate) const MODEL: &str = "tokenizer.ggml.model";
    pub(crate) const PRE: &str = "tokenizer.ggml.pre";
    pub(crate) const TOKENS: &str = "tokenizer.ggml.tokens";
    pub(crate) const TOKEN_TYPES: &str = "tokenizer.ggml.token_type";
    pub(crate) const MERGES: &str = "tokenizer.ggml.merges";
    pub(crate) const SCORES: &str = "tokenizer.ggml.scores";
    pub(crate) const ADD_SPACE_PREFIX: &str = "tokenizer.ggml.add_space_prefix";
    pub(crate) const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";
    pub(crate) const ADD_EOS: &str = "tokenizer.ggml.add_eos_token";
    pub(crate) const BOS: &str = "tokenizer.ggml.bos_token_id";
    pub(crate) const EOS: &str = "tokenizer.ggml.eos_token_id";
    pub(crate) const UNKNOWN: &str = "tokenizer.ggml.unknown_token_id";
    pub(crate) const EOT: &str = "tokenizer.ggml.eot_token_id";
    pub(crate) const EOM: &str = "tokenizer.ggml.eom_token_id";
    pub(crate) const FIM_PRE: &str = "tokenizer.ggml.fim_pre_token_id";
    pub(crate) const FIM_SUF: &str = "tokenizer.ggml.fim_suf_token_id";
    pub(crate) const FIM_MID: &str = "tokenizer.ggml.fim_mid_token_id";
    pub(crate) const FIM_PAD: &str = "tokenizer.ggml.fim_pad_token_id";
    pub(crate) const FIM_REP: &str = "tokenizer.ggml.fim_rep_token_id";
    pub(crate) const FIM_SEP: &str = "tokenizer.ggml.fim_sep_token_id";

    /// The keys whose value is a token id that every tokenizer looks at.
    pub(crate) const IDS: [&str; 10] = [BOS, EOS, EOT, EOM, FIM_PRE, FIM_SUF, FIM_MID, FIM_PAD, FIM_REP, FIM_SEP];
}

/// The values of `tokenizer.ggml.model` that are implemented.
pub(super) mod models {
    pub(crate) const BPE: &str = "gpt2";
    pub(crate) const SPM: &str = "llama";
}

/// What a token is, as `tokenizer.ggml.token_type` stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// A piece of text.
    Normal,
    /// Stands for what the vocabulary cannot express.
    Unknown,
    /// A mark of the model, such as the end of a turn; not text.
    Control,
    /// Text that is taken out before anything else is split.
    UserDefined,
    /// Not in use.
    Unused,
    /// One byte, written `<0x0A>`.
    Byte,
    /// Any other number.
    Undefined,
}

impl From<i32> for TokenType {
    fn from(stored: i32) -> Self {
        match stored {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => Self::Undefined,
        }
    }
}

/// As an integer that fits 32 bits.
impl<'a> FromValue<'a> for TokenType {
    fn expected() -> Cow<'static, str> {
        i32::expected()
    }

    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        i32::from_value(value).map(Self::from)
    }

    fn accepts_all(ty: ValueType) -> bool {
        i32::accepts_all(ty)
    }
}

/// The metadata of a tokenizer, borrowed: [`Tokenizer::new`](super::Tokenizer::new) checks it.
///
/// ```
/// use keepq_decoder::tokenizer::{Special, Tokenizer, Vocabulary};
///
/// let tokenizer = Tokenizer::new(Vocabulary {
///     model: "llama",
///     tokens: vec!["<unk>", "<s>", "</s>", "▁", "l", "o", "w", "lo", "▁lo"].into(),
///     scores: vec![0.0, 0.0, 0.0, -4.0, -5.0, -6.0, -7.0, -1.0, -2.0].into(),
///     ..Vocabulary::default()
/// })?;
///
/// assert_eq!(tokenizer.encode("low", Special::Parse)?, [1, 8, 6]); // <s> ▁lo w
/// assert_eq!(tokenizer.decode(&[8, 6])?, "low");
/// # Ok::<(), keepq_decoder::tokenizer::TokenizerError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Vocabulary<'a> {
    /// `tokenizer.ggml.model`: the algorithm; `gpt2` is byte-level byte-pair encoding, `llama` SentencePiece's.
    pub model: &'a str,
    /// `tokenizer.ggml.pre`: how text is split into words. `gpt2` alone does that.
    pub pre: Option<&'a str>,
    /// `tokenizer.ggml.tokens`: each token's text; the index is the id.
    pub tokens: List<'a, &'a str>,
    /// `tokenizer.ggml.token_type`: one for each token, or none where all are normal.
    pub token_types: List<'a, TokenType>,
    /// `tokenizer.ggml.merges`: two neighbours, a space between, that become one; best first. For `gpt2`.
    pub merges: List<'a, &'a str>,
    /// `tokenizer.ggml.scores`: one for each token; the higher, the earlier its parts are joined. For `llama`.
    pub scores: List<'a, f32>,
    /// `tokenizer.ggml.add_space_prefix`: whether a text gets a space before it. For `llama`, where it is the default.
    pub add_space_prefix: Option<bool>,
    /// `tokenizer.ggml.add_bos_token`: whether a text begins with BOS.
    pub add_bos: Option<bool>,
    /// `tokenizer.ggml.add_eos_token`: whether a text ends in EOS.
    pub add_eos: Option<bool>,
    /// The keys that hold one token's id (`tokenizer.ggml.bos_token_id` and others), each with its value.
    pub special_ids: Vec<(&'static str, u32)>,
    /// `general.name`: what the model is called. White space after the special tokens of Phi-3 belongs to them, and
    /// files say so in no other way.
    pub name: Option<&'a str>,
}

impl<'a> Vocabulary<'a> {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    /// [`TokenizerError::Metadata`] where `tokenizer.ggml.model` is missing, or a key has another type than the
    /// tokenizer needs. What else a model needs is for [`Tokenizer::new`](super::Tokenizer::new) to say.
    pub fn from_gguf(gguf: &Gguf<'a>) -> Result<Self, TokenizerError> {
        let mut vocabulary = Self {
            model: gguf.require(keys::MODEL)?,
            pre: gguf.get(keys::PRE)?,
            tokens: list(gguf, keys::TOKENS)?,
            token_types: list(gguf, keys::TOKEN_TYPES)?,
            merges: list(gguf, keys::MERGES)?,
            add_bos: gguf.get(keys::ADD_BOS)?,
            add_eos: gguf.get(keys::ADD_EOS)?,
            name: gguf.get(keys::NAME)?,
            ..Self::default()
        };
        for key in keys::IDS {
            vocabulary.special_ids.extend(gguf.get(key)?.map(|id| (key, id)));
        }
        // Files of other models have these too, without use and not always well formed.
        if vocabulary.model == models::SPM {
            vocabulary.scores = list(gguf, keys::SCORES)?;
            vocabulary.add_space_prefix = gguf.get(keys::ADD_SPACE_PREFIX)?;
            vocabulary.special_ids.extend(gguf.get(keys::UNKNOWN)?.map(|id| (keys::UNKNOWN, id)));
        }
        Ok(vocabulary)
    }

    /// The id that a key holds.
    pub(super) fn special_id(&self, key: &str) -> Option<u32> {
        self.special_ids.iter().find(|(name, _)| *name == key).map(|(_, id)| *id)
    }
}

/// An array; empty where the file does not have it.
fn list<'a, T: FromValue<'a>>(gguf: &Gguf<'a>, key: &str) -> Result<List<'a, T>, TokenizerError> {
    let items: Option<Items<'a, T>> = gguf.get(key)?;
    Ok(items.map(List::from).unwrap_or_default())
}
