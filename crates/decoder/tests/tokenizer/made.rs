//! [`MadeVocabulary`]: the metadata of a tokenizer, legal or not, and texts for it. The fuzz target `tokenizer` chooses them; here
//! those that are kept run again.

use arbitrary::Arbitrary;
use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_gguf::Gguf;
use keepq_gguf::write::{PutValue, Writer};

/// Metadata, a text, and ids.
#[derive(Arbitrary, Debug)]
pub(crate) struct MadeVocabulary<'b> {
    model: Model,
    pre: Option<Pre>,
    tokens: Vec<Token<'b>>,
    /// The type of each token; none, fewer, more.
    types: Vec<i8>,
    merges: Vec<(Token<'b>, Token<'b>)>,
    /// A merge that is no two texts.
    odd_merge: Option<&'b str>,
    scores: Vec<f32>,
    /// One more score than tokens, or as many as there are.
    scores_as_tokens: bool,
    ids: Vec<(Id, u16)>,
    flags: [Option<bool>; 3],
    name: Option<&'b str>,
    /// A key whose value has another type than is expected.
    wrong: Option<Wrong>,
    text: &'b str,
    pieces: Vec<u16>,
    decoded: Vec<u16>,
}

#[derive(Arbitrary, Debug)]
enum Model {
    Bpe,
    Spm,
    Other,
}

#[derive(Arbitrary, Debug)]
enum Pre {
    Gpt2,
    Smollm,
    Llama,
    Qwen2,
    Qwen35,
    Default,
    Other,
}

#[derive(Arbitrary, Debug)]
enum Token<'b> {
    /// A letter of the byte alphabet, or of a text.
    Byte(u8),
    /// `<0x0A>`.
    OfAByte(u8),
    Letter(u8),
    Pair(u8, u8),
    Space,
    End,
    Text(&'b str),
}

#[derive(Arbitrary, Debug)]
enum Id {
    Bos,
    Eos,
    Unknown,
    Eot,
    Pad,
}

impl Model {
    fn name(&self) -> &'static str {
        match self {
            Self::Bpe => "gpt2",
            Self::Spm => "llama",
            Self::Other => "unigram",
        }
    }
}

impl Pre {
    fn name(&self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt-2",
            Self::Smollm => "smollm",
            Self::Llama => "llama-bpe",
            Self::Qwen2 => "qwen2",
            Self::Qwen35 => "qwen35",
            Self::Default => "default",
            Self::Other => "none of these",
        }
    }
}

impl Id {
    const KEYS: [&str; 5] = ["bos_token_id", "eos_token_id", "unknown_token_id", "eot_token_id", "fim_pad_token_id"];

    fn key(&self) -> &'static str {
        Self::KEYS[match self {
            Self::Bos => 0,
            Self::Eos => 1,
            Self::Unknown => 2,
            Self::Eot => 3,
            Self::Pad => 4,
        }]
    }
}

/// A file in the making.
struct File(Writer<'static>);

impl File {
    fn put(&mut self, key: &str, value: impl PutValue) {
        self.0.put(&format!("tokenizer.ggml.{key}"), value).expect("legal metadata");
    }
}

#[derive(Arbitrary, Debug)]
enum Wrong {
    Tokens,
    Types,
    Merges,
    Scores,
    Bos,
    AddBos,
}

impl Token<'_> {
    fn text(&self) -> String {
        let letter = |byte: u8| char::from(b'a' + byte % 6);
        match self {
            // The alphabet of byte-level encodings has the bytes that are no text moved up by 256.
            Self::Byte(byte @ 0x21..=0x7e) => char::from(*byte).to_string(),
            Self::Byte(byte) => char::from_u32(0x100 + u32::from(*byte)).map_or_else(String::new, String::from),
            Self::OfAByte(byte) => format!("<0x{byte:02X}>"),
            Self::Letter(byte) => letter(*byte).to_string(),
            Self::Pair(a, b) => [letter(*a), letter(*b)].iter().collect(),
            Self::Space => "\u{2581}".into(),
            Self::End => "<|im_end|>".into(),
            Self::Text(text) => (*text).into(),
        }
    }
}

impl MadeVocabulary<'_> {
    /// The file, without tensors.
    fn file(&self) -> Vec<u8> {
        let mut file = File(Writer::new());
        file.put("model", self.model.name());
        if let Some(pre) = &self.pre {
            file.put("pre", pre.name());
        }
        let tokens: Vec<String> = self.tokens.iter().map(Token::text).collect();
        let pairs = self.merges.iter().map(|(a, b)| format!("{} {}", a.text(), b.text()));
        let merges: Vec<String> = pairs.chain(self.odd_merge.map(Into::into)).collect();
        let types: Vec<i32> = self.types.iter().map(|&ty| ty.into()).collect();
        let mut scores = self.scores.clone();
        if self.scores_as_tokens {
            scores.resize(tokens.len(), -1.0);
        }
        match self.wrong {
            Some(Wrong::Tokens) => file.put("tokens", [1_u32, 2]),
            _ => file.put("tokens", tokens.as_slice()),
        }
        match self.wrong {
            Some(Wrong::Merges) => file.put("merges", [1_u32, 2]),
            _ => file.put("merges", merges.as_slice()),
        }
        match self.wrong {
            Some(Wrong::Types) => file.put("token_type", "1"),
            _ if types.is_empty() => {}
            _ => file.put("token_type", types.as_slice()),
        }
        match self.wrong {
            Some(Wrong::Scores) => file.put("scores", [1_u32]),
            _ if scores.is_empty() => {}
            _ => file.put("scores", scores.as_slice()),
        }
        for key in Id::KEYS {
            let id = self.ids.iter().find(|(id, _)| id.key() == key).map(|(_, id)| u32::from(*id));
            match (key, &self.wrong, id) {
                ("bos_token_id", Some(Wrong::Bos), _) => file.put(key, 1.5_f32),
                (_, _, Some(id)) => file.put(key, id),
                _ => {}
            }
        }
        for (key, flag) in ["add_bos_token", "add_eos_token", "add_space_prefix"].into_iter().zip(self.flags) {
            match (key, &self.wrong, flag) {
                ("add_bos_token", Some(Wrong::AddBos), _) => file.put(key, 7_u8),
                (_, _, Some(flag)) => file.put(key, flag),
                _ => {}
            }
        }
        if let Some(name) = self.name {
            file.0.put("general.name", name).expect("legal metadata");
        }
        let mut bytes = Vec::new();
        file.0.write_to(&mut bytes).expect("memory");
        bytes
    }

    /// The text that is encoded: what was chosen, then tokens.
    fn text(&self) -> String {
        let token = |piece: &u16| self.tokens.get(usize::from(*piece) % self.tokens.len().max(1)).map(Token::text);
        std::iter::once(self.text.to_owned()).chain(self.pieces.iter().filter_map(token)).collect()
    }

    /// A tokenizer is an error of one line, or encodes any text to ids that it decodes.
    pub(crate) fn check(&self) {
        let file = self.file();
        let gguf = Gguf::parse(&file).expect("legal metadata");
        let tokenizer = match Tokenizer::from_gguf(&gguf) {
            Ok(tokenizer) => tokenizer,
            Err(error) => return one_line(&error.to_string()),
        };
        let text = self.text();
        for special in [Special::Parse, Special::Plain] {
            match tokenizer.encode(&text, special) {
                Ok(ids) => {
                    assert!(ids.iter().all(|&id| (id as usize) < tokenizer.token_count()), "{ids:?}");
                    let whole = tokenizer.decode(&ids).expect("ids of the vocabulary");
                    assert!(whole.len() <= 64 * (text.len() + ids.len() + 1) * (1 + self.longest()), "{whole:?}");
                }
                Err(error) => one_line(&error.to_string()),
            }
        }
        let ids: Vec<u32> = self.decoded.iter().map(|&id| id.into()).collect();
        let is_known = ids.iter().all(|&id| (id as usize) < tokenizer.token_count());
        assert_eq!(tokenizer.decode(&ids).is_ok(), is_known);
    }

    /// Bytes of the longest token.
    fn longest(&self) -> usize {
        self.tokens.iter().map(|token| token.text().len()).max().unwrap_or_default()
    }
}

fn one_line(error: &str) {
    assert!(!error.chars().any(char::is_control), "{error}");
}
