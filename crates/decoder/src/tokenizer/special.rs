//! [`SpecialTokens`]: finds in a text the tokens that stand for themselves, before anything is split.

use std::cmp::Reverse;

use super::Special;
use super::token_table::TokenTable;
use super::vocabulary::TokenType;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    /// Text that is still to be encoded.
    Text(&'t str),
    /// A token that the text spells out.
    Token(u32),
}

/// Where special tokens can begin, and how long they are.
#[derive(Debug)]
pub(super) struct SpecialTokens {
    /// For each first byte, the lengths of the special tokens that begin with it.
    lengths: [Vec<usize>; 256],
}

/// A special token at a place in the text. The order is that in which they are taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    length: Reverse<usize>,
    id: u32,
    start: usize,
}

impl SpecialTokens {
    pub(super) fn new(tokens: &TokenTable<'_>) -> Self {
        let mut lengths: [Vec<usize>; 256] = std::array::from_fn(|_| Vec::new());
        for (_, text, ty) in tokens.iter() {
            if let (true, Some(&first)) = (is_special(ty, Special::Parse), text.as_bytes().first()) {
                lengths[first as usize].push(text.len());
            }
        }
        for lengths in &mut lengths {
            lengths.sort_unstable();
            lengths.dedup();
        }
        Self { lengths }
    }

    /// Splits `text` at its special tokens as llama.cpp does: of all the matches in the text the longest is taken
    /// first, wherever it stands; among equally long ones the token with the smaller id, then the one further left.
    pub(super) fn split<'t>(&self, tokens: &TokenTable<'_>, text: &'t str, special: Special) -> Vec<Fragment<'t>> {
        let mut matches = self.matches(tokens, text, special);
        matches.sort_unstable();

        let mut taken = vec![false; if matches.is_empty() { 0 } else { text.len() }];
        matches.retain(|found| {
            let range = found.start..found.start + found.length.0;
            // What has been taken is at least as long, so that it covers an end of whatever it overlaps.
            let free = !taken[range.start] && !taken[range.end - 1];
            if free {
                taken[range].fill(true);
            }
            free
        });
        matches.sort_unstable_by_key(|found| found.start);

        let mut fragments = Vec::with_capacity(2 * matches.len() + 1);
        let mut done = 0;
        for found in matches {
            if done < found.start {
                fragments.push(Fragment::Text(&text[done..found.start]));
            }
            fragments.push(Fragment::Token(found.id));
            done = found.start + found.length.0;
        }
        if done < text.len() {
            fragments.push(Fragment::Text(&text[done..]));
        }
        fragments
    }

    /// Every special token at every place.
    fn matches(&self, tokens: &TokenTable<'_>, text: &str, special: Special) -> Vec<Match> {
        let mut matches = Vec::new();
        for (start, first) in text.bytes().enumerate() {
            for &length in &self.lengths[first as usize] {
                let Some(id) = text.get(start..start + length).and_then(|text| tokens.id(text)) else { continue };
                if tokens.get(id).is_some_and(|(_, ty)| is_special(ty, special)) {
                    matches.push(Match { length: Reverse(length), id, start });
                }
            }
        }
        matches
    }
}

/// Whether tokens of a type are found in the text before it is split.
fn is_special(ty: TokenType, special: Special) -> bool {
    match ty {
        TokenType::UserDefined => true,
        TokenType::Control | TokenType::Unknown => special == Special::Parse,
        TokenType::Normal | TokenType::Unused | TokenType::Byte | TokenType::Undefined => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::Vocabulary;

    fn tokens<'a>(tokens: &[(&'a str, TokenType)]) -> TokenTable<'a> {
        let (tokens, token_types) = tokens.iter().copied().unzip();
        TokenTable::new(&mut Vocabulary { tokens, token_types, ..Vocabulary::default() }).unwrap()
    }

    fn split<'t>(tokens: &TokenTable<'_>, text: &'t str, special: Special) -> Vec<Fragment<'t>> {
        SpecialTokens::new(tokens).split(tokens, text, special)
    }

    /// The definition: each special token in turn, the longest first, in all that is still text.
    fn split_one_by_one<'t>(tokens: &TokenTable<'_>, text: &'t str) -> Vec<Fragment<'t>> {
        let mut specials: Vec<_> = tokens.iter().filter(|(_, _, ty)| is_special(*ty, Special::Parse)).collect();
        specials.sort_by_key(|(_, text, _)| Reverse(text.len()));
        let mut fragments = vec![Fragment::Text(text)];
        for (id, special, _) in specials {
            let split = |fragment| match fragment {
                Fragment::Token(_) => vec![fragment],
                Fragment::Text(text) => {
                    let mut split = Vec::new();
                    for text in text.split(special) {
                        split.extend([Fragment::Text(text), Fragment::Token(id)]);
                    }
                    split.pop();
                    split
                }
            };
            fragments = fragments.into_iter().flat_map(split).collect();
        }
        fragments.retain(|fragment| *fragment != Fragment::Text(""));
        fragments
    }

    #[test]
    fn the_longest_is_taken_first() {
        use Fragment::{Text, Token};
        let tokens = tokens(&[
            ("<a>", TokenType::Control),
            ("a>b", TokenType::UserDefined),
            ("a>bc", TokenType::Control),
            ("<", TokenType::Normal),
            ("??", TokenType::Unknown),
        ]);
        assert_eq!(split(&tokens, "x<a>y", Special::Parse), [Text("x"), Token(0), Text("y")]);
        assert_eq!(split(&tokens, "<a>b", Special::Parse), [Token(0), Text("b")]);
        assert_eq!(split(&tokens, "<a>bc<a>??", Special::Parse), [Text("<"), Token(2), Token(0), Token(4)]);
        assert_eq!(split(&tokens, "<a>bc??", Special::Plain), [Text("<"), Token(1), Text("c??")]);
        assert_eq!(split(&tokens, "", Special::Parse), []);
    }

    #[test]
    fn overlaps_end_as_they_do_one_by_one() {
        let special = (prop_oneof!["[ab]{1,4}", "[é日]{1,2}"], Just(TokenType::Control));
        let specials = prop::collection::hash_map(special.0, special.1, 1..6);
        proptest!(|(specials in specials, text in "[abé日]{0,24}")| {
            let specials: Vec<_> = specials.iter().map(|(text, ty)| (text.as_str(), *ty)).collect();
            let tokens = tokens(&specials);
            prop_assert_eq!(split(&tokens, &text, Special::Parse), split_one_by_one(&tokens, &text));
        });
    }
}
