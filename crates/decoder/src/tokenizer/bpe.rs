//! [`Bpe`]: byte-level byte-pair encoding, `tokenizer.ggml.model` = `gpt2`.
//!
//! A text is split into words; a word starts as its bytes, each written as a character of
//! [GPT-2's alphabet](super::byte_alphabet), and neighbours are joined, the pair that stands first in the list of
//! merges before all others and from left to right, until no pair of neighbours is in the list.
//!
//! ```text
//! " lower"  ->  Ġ l o w e r  ->  Ġ lo w e r  ->  Ġ lo w er  ->  Ġlo w er  ->  ids of Ġlo, w, er
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::byte_alphabet::{byte_of, char_of};
use super::pre_tokenizer::{PreTokenizer, PreTokenizerRules};
use super::token_table::TokenTable;

/// Splits words into tokens by the file's list of merges.
#[derive(Debug)]
pub(super) struct Bpe<'a> {
    pre_tokenizer: PreTokenizer,
    merges: Merges<'a>,
    /// Whether a word that is a token is taken whole.
    whole_words: bool,
}

impl<'a> Bpe<'a> {
    pub(super) fn new(rules: &PreTokenizerRules, merges: Vec<&'a str>) -> Self {
        Self { pre_tokenizer: PreTokenizer::new(rules), merges: Merges::new(merges), whole_words: rules.whole_words }
    }

    /// Appends the ids of `text`.
    pub(super) fn encode(&self, tokens: &TokenTable<'_>, text: &str, ids: &mut Vec<u32>) {
        let mut word = Word::default();
        for piece in self.pre_tokenizer.split(text) {
            word.set(piece);
            if self.whole_words
                && let Some(id) = tokens.id(&word.text)
            {
                ids.push(id);
            } else {
                word.merge(&self.merges);
                word.symbols().for_each(|symbol| push_symbol(tokens, symbol, ids));
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
fn push_symbol(tokens: &TokenTable<'_>, symbol: &str, ids: &mut Vec<u32>) {
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

    /// The place in the list of `left` joined with `right`.
    fn rank(&self, left: &str, right: &str) -> Option<u32> {
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

/// A word while its symbols are joined; its memory is used again for the next word.
#[derive(Default)]
struct Word {
    /// The word in GPT-2's alphabet.
    text: String,
    /// In the order of the text; a symbol that was joined to the one on its left is empty.
    symbols: Vec<Symbol>,
    /// Neighbours that can be joined, the best on top. Some have changed since.
    candidates: BinaryHeap<Reverse<Candidate>>,
}

/// A piece of the word, and its neighbours by their index.
struct Symbol {
    start: usize,
    end: usize,
    left: Option<usize>,
    right: Option<usize>,
}

/// Two neighbours that a merge joins: ordered by its rank, then from left to right.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    left: usize,
    right: usize,
    /// The text's length when this was found: another length now means that a side has changed.
    length: usize,
}

impl Word {
    /// Starts over with the bytes of `word`.
    fn set(&mut self, word: &str) {
        self.text.clear();
        self.text.extend(word.bytes().map(char_of));
    }

    /// Joins neighbours until no pair of them is in the list: at most one candidate for each byte and two for each
    /// join, so that a word of n bytes takes n log n steps.
    fn merge(&mut self, merges: &Merges<'_>) {
        self.symbols.clear();
        for (index, (start, c)) in self.text.char_indices().enumerate() {
            let left = index.checked_sub(1);
            self.symbols.push(Symbol { start, end: start + c.len_utf8(), left, right: Some(index + 1) });
        }
        if let Some(last) = self.symbols.last_mut() {
            last.right = None;
        }
        for left in 0..self.symbols.len() {
            self.consider(merges, left);
        }

        while let Some(Reverse(candidate)) = self.candidates.pop() {
            let Candidate { left, right, length, .. } = candidate;
            if self.length(left) == 0 || self.length(right) == 0 || self.length(left) + self.length(right) != length {
                continue;
            }
            let Symbol { start, end, right: next, .. } = self.symbols[right];
            self.symbols[right].end = start;
            self.symbols[left].end = end;
            self.symbols[left].right = next;
            if let Some(next) = next {
                self.symbols[next].left = Some(left);
            }
            if let Some(before) = self.symbols[left].left {
                self.consider(merges, before);
            }
            self.consider(merges, left);
        }
    }

    /// Adds a symbol and its right neighbour to the candidates if they are in the list.
    fn consider(&mut self, merges: &Merges<'_>, left: usize) {
        let Some(right) = self.symbols[left].right else { return };
        if let Some(rank) = merges.rank(self.symbol(left), self.symbol(right)) {
            let length = self.length(left) + self.length(right);
            self.candidates.push(Reverse(Candidate { rank, left, right, length }));
        }
    }

    fn length(&self, index: usize) -> usize {
        self.symbols[index].end - self.symbols[index].start
    }

    fn symbol(&self, index: usize) -> &str {
        &self.text[self.symbols[index].start..self.symbols[index].end]
    }

    /// The symbols that are left.
    fn symbols(&self) -> impl Iterator<Item = &str> {
        (0..self.symbols.len()).map(|index| self.symbol(index)).filter(|symbol| !symbol.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(merges: &Merges<'_>, text: &str) -> Vec<String> {
        let mut word = Word::default();
        word.set(text);
        word.merge(merges);
        word.symbols().map(str::to_owned).collect()
    }

    /// The definition: of all neighbours the best pair is joined, the leftmost of equals, until none can be.
    fn merged_one_by_one(pairs: &[&str], text: &str) -> Vec<String> {
        let mut symbols: Vec<String> = text.bytes().map(|byte| char_of(byte).to_string()).collect();
        let rank = |pair: &[String]| pairs.iter().position(|merge| *merge == format!("{} {}", pair[0], pair[1]));
        while let Some((_, left)) =
            symbols.windows(2).enumerate().filter_map(|(left, pair)| Some((rank(pair)?, left))).min()
        {
            let right = symbols.remove(left + 1);
            symbols[left].push_str(&right);
        }
        symbols
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

    #[test]
    fn of_a_merge_listed_twice_the_first_counts() {
        let merges = Merges::new(vec!["a b", "b c", "a b"]);
        assert_eq!(merges.rank("a", "b"), Some(0));
        assert_eq!(merges.rank("b", "c"), Some(1));
        assert_eq!(merges.rank("c", "a"), None);
    }

    #[test]
    fn words_end_as_they_do_pair_by_pair() {
        let pairs = prop::collection::vec("[abé]{1,3} [abé]{1,3}", 1..12);
        proptest!(|(pairs in pairs, text in "[abé]{0,24}")| {
            let encoded: Vec<String> = pairs.iter().map(|pair| {
                pair.bytes().map(|byte| if byte == b' ' { ' ' } else { char_of(byte) }).collect()
            }).collect();
            let pairs: Vec<&str> = encoded.iter().map(String::as_str).collect();
            prop_assert_eq!(merged(&Merges::new(pairs.clone()), &text), merged_one_by_one(&pairs, &text));
        });
    }
}
