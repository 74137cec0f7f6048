//! [`Spm`]: SentencePiece's byte-pair encoding as llama.cpp has it, `tokenizer.ggml.model` = `llama`.
//!
//! There are no words: a text is one, its spaces written as `▁` (U+2581). It starts as its characters, and neighbours
//! that are a token together are joined, the token of the highest score first and equals from left to right, until
//! no two are. A character that is no token becomes the tokens of its bytes, `<0x00>` to `<0xFF>`.
//!
//! ```text
//! " lower é"  ->  ▁ l o w e r ▁ é  ->  ▁ lo w er ▁ é  ->  ▁lo w er ▁ é  ->  ids of ▁lo, w, er, ▁, <0xC3>, <0xA9>
//! ```

use super::TokenizerError;
use super::symbols::Symbols;
use super::token_table::TokenTable;
use super::vocabulary::{TokenType, Vocabulary, keys};

/// Stands for a space in the texts of tokens.
const SPACE: char = '\u{2581}';

/// The ids that SentencePiece gives these tokens unless told otherwise.
const DEFAULT_IDS: [(&str, u32); 2] = [(keys::BOS, 1), (keys::EOS, 2)];

/// Splits text into tokens by their scores.
#[derive(Debug)]
pub(super) struct Spm {
    /// Of each token: the smaller, the earlier its parts are joined.
    ranks: Vec<u32>,
    /// The tokens of single bytes.
    bytes: Box<[Option<u32>; 256]>,
    unknown: Option<u32>,
    /// Whether a text gets a space before it, so that its first word is the token that it is elsewhere.
    adds_space: bool,
}

impl Spm {
    /// Adds to `vocabulary` the ids of BOS and EOS where the file leaves them out and there are such tokens; an error where it
    /// lacks what this algorithm needs.
    pub(super) fn check(vocabulary: &mut Vocabulary<'_>) -> Result<(), TokenizerError> {
        let tokens = vocabulary.tokens.len();
        for (key, id) in DEFAULT_IDS {
            if vocabulary.special_id(key).is_none() && (id as usize) < tokens {
                vocabulary.special_ids.push((key, id));
            }
        }
        match vocabulary.scores.len() {
            0 => Err(TokenizerError::Missing { key: keys::SCORES }),
            found if found < tokens => {
                Err(TokenizerError::ArrayTooShort { key: keys::SCORES, expected: tokens, found })
            }
            _ => Ok(()),
        }
    }

    /// Orders the scores; an error where one is not a number.
    pub(super) fn new(tokens: TokenTable<'_, '_>, vocabulary: &Vocabulary<'_>) -> Result<Self, TokenizerError> {
        let scores = vocabulary.scores.to_vec();
        let ranks = tokens.iter().zip(scores).map(|((id, ..), score)| {
            let not_a_number = TokenizerError::ScoreNotANumber { id };
            rank(score).ok_or(not_a_number)
        });
        let typed_unknown = || tokens.iter().find(|(_, _, ty)| *ty == TokenType::Unknown);
        Ok(Self {
            ranks: ranks.collect::<Result<_, _>>()?,
            bytes: Box::new(std::array::from_fn(|byte| tokens.id(&format!("<0x{byte:02X}>")))),
            unknown: vocabulary.special_id(keys::UNKNOWN).or_else(|| typed_unknown().map(|(id, ..)| id)),
            adds_space: Self::adds_space(vocabulary),
        })
    }

    /// Appends the ids of `text`, all of it or what is between two special tokens.
    pub(super) fn encode(&self, tokens: TokenTable<'_, '_>, text: &str, ids: &mut Vec<u32>) {
        let space = self.adds_space.then_some(SPACE);
        let mut symbols = Symbols::default();
        symbols.set(space.into_iter().chain(text.chars().map(|c| if c == ' ' { SPACE } else { c })));
        symbols.merge(|joined, _| tokens.id(joined).map(|id| self.ranks[id as usize]));
        for symbol in symbols.iter() {
            match tokens.id(symbol) {
                Some(id) => ids.push(id),
                None => self.push_bytes(symbol, ids),
            }
        }
    }

    /// Appends the tokens of a character's bytes; where one of them is no token, the unknown token for all, and where
    /// there is none, nothing. (llama.cpp ends the program where a byte has no token.)
    fn push_bytes(&self, character: &str, ids: &mut Vec<u32>) {
        let first = ids.len();
        ids.extend(character.bytes().map_while(|byte| self.bytes[usize::from(byte)]));
        if ids.len() - first < character.len() {
            ids.truncate(first);
            ids.extend(self.unknown);
        }
    }

    /// Appends the bytes that a token's text stands for.
    pub(super) fn decode(text: &str, bytes: &mut Vec<u8>) {
        bytes.extend(text.replace(SPACE, " ").bytes());
    }

    /// Whether a text gets a space before it.
    pub(super) fn adds_space(vocabulary: &Vocabulary<'_>) -> bool {
        vocabulary.add_space_prefix.unwrap_or(true)
    }
}

/// The order of scores as that of whole numbers, the best first; nothing for one that is not a number.
fn rank(score: f32) -> Option<u32> {
    if score.is_nan() {
        return None;
    }
    // Bits of positive numbers ascend with the number, those of negative ones with its magnitude; -0 becomes 0.
    let bits = (score + 0.0).to_bits();
    Some(if score < 0.0 { bits } else { i32::MAX as u32 - bits })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::token_table::TextIds;
    use super::super::tokens::Tokens;
    use super::*;

    #[test]
    fn ranks_have_the_order_of_scores() {
        let any = prop_oneof![any::<f32>(), -3.0..3.0_f32, Just(0.0), Just(-0.0), Just(f32::INFINITY), Just(f32::MIN)];
        proptest!(|(a in &any, b in &any)| {
            match (rank(a), rank(b)) {
                (Some(of_a), Some(of_b)) => prop_assert_eq!(Some(of_b.cmp(&of_a)), a.partial_cmp(&b)),
                _ => prop_assert!(a.is_nan() || b.is_nan()),
            }
        });
        assert_eq!(rank(-0.0), rank(0.0));
        assert!(rank(f32::INFINITY) < rank(f32::MAX) && rank(f32::MIN) < rank(f32::NEG_INFINITY));
        assert_eq!(rank(f32::NAN), None);
    }

    const TOKENS: [&str; 10] = ["<unk>", "▁", "a", "b", "ab", "▁a", "▁ab", "<0xC3>", "<0xA9>", "ba"];

    fn ids(scores: &[f32], space: bool, text: &str) -> Vec<u32> {
        let vocabulary = Vocabulary {
            tokens: TOKENS.to_vec().into(),
            scores: scores.to_vec().into(),
            add_space_prefix: Some(space),
            special_ids: vec![(keys::UNKNOWN, 0)],
            ..Vocabulary::default()
        };
        let tokens = Tokens::of(&vocabulary);
        let text_ids = TextIds::of(&tokens).unwrap();
        let table = text_ids.table(&tokens);
        let mut ids = Vec::new();
        Spm::new(table, &vocabulary).unwrap().encode(table, text, &mut ids);
        ids
    }

    #[test]
    fn the_highest_score_is_joined_first() {
        let scores = |ab, space_a, ba| [0., 0., 0., 0., ab, space_a, -9., 0., 0., ba];
        assert_eq!(ids(&scores(-1., -2., -3.), false, " aba"), [6, 2]);
        assert_eq!(ids(&scores(-1., -2., -3.), false, "aba ba"), [4, 2, 1, 9]);
        assert_eq!(ids(&scores(-3., -2., -1.), false, "aba ba"), [2, 9, 1, 9]);
        // Of equals the leftmost.
        assert_eq!(ids(&scores(-1., -1., -1.), false, "ababa"), [4, 4, 2]);
        assert_eq!(ids(&scores(-0., 0., 0.), false, "babab"), [9, 9, 3]);
    }

    #[test]
    fn the_space_before_a_text_is_part_of_it() {
        assert_eq!(ids(&[0.; 10], false, "ab"), [4]);
        assert_eq!(ids(&[0.; 10], true, "ab a"), [6, 5]);
        assert_eq!(ids(&[0.; 10], true, " "), [1, 1]);
    }

    #[test]
    fn characters_that_are_no_token() {
        assert_eq!(ids(&[0.; 10], false, "aéb"), [2, 7, 8, 3]);
        // U+00E8 has <0xC3> and no <0xA8>: not half of it.
        assert_eq!(ids(&[0.; 10], false, "aèb日"), [2, 0, 3, 0]);
    }
}
