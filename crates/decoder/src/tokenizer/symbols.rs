//! [`Symbols`]: a text in pieces, whose neighbours are joined, the best pair of all first.
//!
//! What is best is the algorithm's to say; how it is found is the same for all. Neighbours that may be joined wait in
//! a heap, and pieces are ranges of one text in a linked list, so that a text of n characters takes n log n steps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A text while its pieces are joined; its memory is used again for the next text.
#[derive(Default)]
pub(super) struct Symbols {
    text: String,
    /// In the order of the text; one that was joined to its left neighbour is empty.
    symbols: Vec<Symbol>,
    /// Neighbours that can be joined, the best on top. Some have changed since.
    candidates: BinaryHeap<Reverse<Candidate>>,
}

/// A piece of the text, and its neighbours by their index.
struct Symbol {
    start: usize,
    end: usize,
    left: Option<usize>,
    right: Option<usize>,
}

/// Two neighbours that can be joined: ordered by rank, then from left to right.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    left: usize,
    right: usize,
    /// Their length together when this was found: another length now means that a side has changed.
    length: usize,
}

impl Symbols {
    /// Starts over with a text.
    pub(super) fn set(&mut self, text: impl IntoIterator<Item = char>) {
        self.text.clear();
        self.text.extend(text);
        self.symbols.clear();
    }

    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The pieces that are left after [`merge`](Self::merge).
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.symbols.iter().map(|symbol| &self.text[symbol.start..symbol.end]).filter(|symbol| !symbol.is_empty())
    }

    /// Joins neighbours, which are characters at first, until no two of them can be: the smallest rank first, the
    /// leftmost of equals.
    ///
    /// `rank` is given what two neighbours are together, and how many of its bytes are the left one's; it says
    /// nothing where they stay apart. At most one candidate is made for each character and two for each join.
    pub(super) fn merge(&mut self, rank: impl Fn(&str, usize) -> Option<u32>) {
        for (index, (start, c)) in self.text.char_indices().enumerate() {
            let left = index.checked_sub(1);
            self.symbols.push(Symbol { start, end: start + c.len_utf8(), left, right: Some(index + 1) });
        }
        if let Some(last) = self.symbols.last_mut() {
            last.right = None;
        }
        for left in 0..self.symbols.len() {
            self.consider(&rank, left);
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
                self.consider(&rank, before);
            }
            self.consider(&rank, left);
        }
    }

    /// Adds a symbol and its right neighbour to the candidates if they can be joined.
    fn consider(&mut self, rank: impl Fn(&str, usize) -> Option<u32>, left: usize) {
        let Symbol { start, end: middle, right, .. } = self.symbols[left];
        let Some(right) = right else { return };
        let end = self.symbols[right].end;
        if let Some(rank) = rank(&self.text[start..end], middle - start) {
            self.candidates.push(Reverse(Candidate { rank, left, right, length: end - start }));
        }
    }

    fn length(&self, index: usize) -> usize {
        self.symbols[index].end - self.symbols[index].start
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::*;

    /// The definition: of all neighbours the best pair is joined, the leftmost of equals, until none can be.
    fn merged_one_by_one(text: &str, rank: impl Fn(&str, usize) -> Option<u32>) -> Vec<String> {
        let mut symbols: Vec<String> = text.chars().map(String::from).collect();
        let ranked = |left: usize, pair: &[String]| Some((rank(&pair.concat(), pair[0].len())?, left));
        while let Some((_, left)) = symbols.windows(2).enumerate().filter_map(|(left, pair)| ranked(left, pair)).min() {
            let right = symbols.remove(left + 1);
            symbols[left].push_str(&right);
        }
        symbols
    }

    #[test]
    fn texts_end_as_they_do_pair_by_pair() {
        // Few ranks, so that many are equal; a rank depends on the text and on where its border is.
        let ranks = prop::collection::hash_map(("[abé]{2,6}", 0..3_usize), 0..4_u32, 1..24);
        let symbols = RefCell::new(Symbols::default());
        proptest!(|(ranks in ranks, text in "[abé]{0,32}")| {
            let mut symbols = symbols.borrow_mut();
            let rank = |joined: &str, left: usize| ranks.get(&(joined.to_owned(), left % 3)).copied();
            symbols.set(text.chars());
            prop_assert_eq!(symbols.text(), &text);
            symbols.merge(rank);
            let merged: Vec<String> = symbols.iter().map(String::from).collect();
            prop_assert_eq!(merged, merged_one_by_one(&text, rank));
        });
    }

    #[test]
    fn no_text_has_no_symbols() {
        let mut symbols = Symbols::default();
        symbols.set("ab".chars());
        symbols.merge(|_, _| Some(0));
        symbols.set("".chars());
        symbols.merge(|_, _| Some(0));
        assert_eq!(symbols.iter().next(), None);
    }
}
