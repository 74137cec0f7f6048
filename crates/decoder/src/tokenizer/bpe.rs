//! [`Bpe`]: byte-level byte-pair encoding, `tokenizer.ggml.model` = `gpt2`.
//!
//! A text is split into words; a word starts as its bytes, each written as a character of
//! [GPT-2's alphabet](super::byte_alphabet), and neighbours are joined, the pair that stands first in the list of
//! merges before all others and from left to right, until no pair of neighbours is in the list.
//!
//! ```text
//! " lower"  ->  Ġ l o w e r  ->  Ġ lo w e r  ->  Ġ lo w er  ->  Ġlo w er  ->  ids of Ġlo, w, er
//! ```

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::TokenizerError;
use super::byte_alphabet::{byte_of, char_of};
use super::pre_tokenizer::{PreTokenizer, PreTokenizerRules};
use super::symbols::Symbols;
use super::token_table::TokenTable;
use super::vocabulary::{Vocabulary, keys};

/// Splits words into tokens by the file's list of merges.
#[derive(Debug)]
pub(super) struct Bpe<'a> {
    pre_tokenizer: PreTokenizer,
    merges: Merges<'a>,
    /// Whether a word that is a token is taken whole.
    whole_words: bool,
}

impl<'a> Bpe<'a> {
    /// The rules that `vocabulary` names; an error where it lacks what they need.
    pub(super) fn check(vocabulary: &Vocabulary<'_>) -> Result<&'static PreTokenizerRules, TokenizerError> {
        let rules = PreTokenizerRules::named(vocabulary.pre.ok_or(TokenizerError::Missing { key: keys::PRE })?)?;
        if vocabulary.merges.is_empty() {
            return Err(TokenizerError::Missing { key: keys::MERGES });
        }
        Ok(rules)
    }

    /// Compiles the rules, and makes a table of the merges.
    pub(super) fn new(rules: &'static PreTokenizerRules, vocabulary: &Vocabulary<'a>) -> Self {
        Self {
            pre_tokenizer: PreTokenizer::new(rules),
            merges: Merges::new(vocabulary.merges.to_vec()),
            whole_words: rules.whole_words,
        }
    }

    /// Appends the ids of `text`.
    pub(super) fn encode(&self, tokens: TokenTable<'_, '_>, text: &str, ids: &mut Vec<u32>) {
        let mut symbols = Symbols::default();
        for word in self.pre_tokenizer.split(text) {
            symbols.set(word.bytes().map(char_of));
            if self.whole_words
                && let Some(id) = tokens.id(symbols.text())
            {
                ids.push(id);
            } else {
                symbols.merge(|joined, left| self.merges.rank(joined.split_at(left)));
                symbols.iter().for_each(|symbol| push_symbol(tokens, symbol, ids));
            }
        }
    }

    /// Appends the bytes that a token's text stands for. Characters outside of the alphabet stand for themselves.
    pub(super) fn decode(text: &str, bytes: &mut Vec<u8>) {
        for c in text.chars() {
            match byte_of(c) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
}

/// Appends the id of a symbol. Where the vocabulary does not have it, llama.cpp looks for each of its UTF-8 bytes
/// and leaves out those that are no token: only ASCII can be.
fn push_symbol(tokens: TokenTable<'_, '_>, symbol: &str, ids: &mut Vec<u32>) {
    match tokens.id(symbol) {
        Some(id) => ids.push(id),
        None => {
            let ascii = symbol.char_indices().filter(|(_, c)| c.is_ascii());
            ids.extend(ascii.filter_map(|(at, _)| tokens.id(&symbol[at..=at])));
        }
    }
}

/// The list of merges, by the two texts that are joined.
#[derive(Debug)]
struct Merges<'a> {
    /// `left right`, best first.
    pairs: Vec<&'a str>,
    /// Indices of `pairs` by the hash of their two sides.
    ranks: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Bytes of the longest pair: nothing longer is worth a look.
    longest: usize,
}

impl<'a> Merges<'a> {
    fn new(pairs: Vec<&'a str>) -> Self {
        let hasher = DefaultHashBuilder::default();
        let hash = |rank: &u32| hasher.hash_one(sides(pairs[*rank as usize]));
        let mut ranks = HashTable::with_capacity(pairs.len());
        for (rank, pair) in (0..=u32::MAX).zip(&pairs) {
            // Of a pair that is listed twice, the better place counts.
            if let Entry::Vacant(place) = ranks.entry(hash(&rank), |&other| pairs[other as usize] == *pair, hash) {
                place.insert(rank);
            }
        }
        let longest = pairs.iter().map(|pair| pair.len()).max().unwrap_or(0);
        Self { pairs, ranks, hasher, longest }
    }

    /// The place in the list of two texts.
    fn rank(&self, (left, right): (&str, &str)) -> Option<u32> {
        if left.len() + 1 + right.len() > self.longest {
            return None;
        }
        let is_pair = |&rank: &u32| sides(self.pairs[rank as usize]) == (left, right);
        self.ranks.find(self.hasher.hash_one((left, right)), is_pair).copied()
    }
}

/// The two sides of a merge. Neither has a space in it: the alphabet has none. One without a space joins nothing.
fn sides(pair: &str) -> (&str, &str) {
    pair.split_once(' ').unwrap_or((pair, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(merges: &Merges<'_>, word: &str) -> Vec<String> {
        let mut symbols = Symbols::default();
        symbols.set(word.bytes().map(char_of));
        symbols.merge(|joined, left| merges.rank(joined.split_at(left)));
        symbols.iter().map(str::to_owned).collect()
    }

    #[test]
    fn the_better_merge_wins_over_the_first() {
        let merges = Merges::new(vec!["b c", "a b", "a bc", "Ġ abc"]);
        assert_eq!(merged(&merges, "abc"), ["abc"]);
        assert_eq!(merged(&merges, "abd abc"), ["ab", "d", "Ġabc"]);
        assert_eq!(merged(&merges, ""), Vec::<String>::new());
    }

    #[test]
    fn equal_pairs_are_joined_from_the_left() {
        let merges = Merges::new(vec!["a a", "aa aa"]);
        assert_eq!(merged(&merges, "aaaaaaa"), ["aaaa", "aa", "a"]);
    }

    /// `ab` and `c` are not `a` and `bc`.
    #[test]
    fn a_merge_is_of_two_sides() {
        let merges = Merges::new(vec!["a b", "a bc"]);
        assert_eq!(merged(&merges, "abc"), ["ab", "c"]);
    }

    #[test]
    fn of_a_merge_listed_twice_the_first_counts() {
        let merges = Merges::new(vec!["a b", "b c", "a b"]);
        assert_eq!(merges.rank(("a", "b")), Some(0));
        assert_eq!(merges.rank(("b", "c")), Some(1));
        assert_eq!(merges.rank(("c", "a")), None);
    }
}
