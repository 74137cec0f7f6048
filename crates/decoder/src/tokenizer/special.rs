//! [`SpecialTokens`]: finds in a text the tokens that stand for themselves, before anything is split.

use std::cmp::Reverse;

use super::Special;
use super::token_table::TokenTable;
use super::tokens::Tokens;
use super::vocabulary::TokenType;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    /// Text that is still to be encoded.
    Text(&'t str),
    /// A token that the text spells out.
    Token(u32),
}

/// How long special tokens are, and with which bytes they begin.
#[derive(Debug)]
pub(super) struct SpecialTokens {
    /// The longest first.
    lengths: Vec<Length>,
    /// The first bytes of all lengths together.
    firsts: Bytes,
    /// The tokens to which the white space after them belongs, sorted.
    strip_right: Vec<u32>,
}

/// The special tokens of one length.
#[derive(Debug)]
struct Length {
    length: usize,
    firsts: Bytes,
}

/// A set of bytes.
type Bytes = [bool; 256];

/// A special token in the text.
struct Match {
    start: usize,
    /// Behind the white space that belongs to it.
    end: usize,
    id: u32,
}

impl SpecialTokens {
    /// `name` is the model's.
    pub(super) fn new(tokens: &Tokens<'_>, name: Option<&str>) -> Self {
        let mut this = Self { lengths: Vec::new(), firsts: [false; 256], strip_right: Vec::new() };
        let is_phi3 = name.is_some_and(is_phi3);
        for (id, text, ty) in tokens.iter() {
            let (true, Some(&first)) = (is_special(ty, Special::Parse), text.as_bytes().first()) else { continue };
            let place = this.lengths.binary_search_by_key(&Reverse(text.len()), |length| Reverse(length.length));
            let at = place.unwrap_or_else(|at| {
                this.lengths.insert(at, Length { length: text.len(), firsts: [false; 256] });
                at
            });
            this.lengths[at].firsts[usize::from(first)] = true;
            this.firsts[usize::from(first)] = true;
            if is_phi3 && !["<unk>", "<s>", "<|endoftext|>"].contains(&text) {
                this.strip_right.push(id);
            }
        }
        this
    }

    /// Splits `text` at its special tokens as llama.cpp does: of all the matches in the text the longest is taken
    /// first, wherever it stands; among equally long ones the token with the smaller id (llama.cpp leaves that to a
    /// sort that is not stable), then the one further left.
    pub(super) fn split<'t>(&self, tokens: TokenTable<'_, '_>, text: &'t str, special: Special) -> Vec<Fragment<'t>> {
        let mut matches = self.matches(tokens, text, special);
        matches.sort_unstable_by_key(|found| found.start);
        let mut fragments = Vec::with_capacity(2 * matches.len() + 1);
        let mut done = 0;
        for found in matches {
            if done < found.start {
                fragments.push(Fragment::Text(&text[done..found.start]));
            }
            fragments.push(Fragment::Token(found.id));
            done = found.end;
        }
        if done < text.len() {
            fragments.push(Fragment::Text(&text[done..]));
        }
        fragments
    }

    /// The special tokens that are taken, in the order in which they are.
    ///
    /// One length after another, so that what a long one has taken is not looked at again: of a megabyte of line
    /// ends, where runs of 1 to 31 of them are tokens, nothing is left after the first round.
    fn matches(&self, tokens: TokenTable<'_, '_>, text: &str, special: Special) -> Vec<Match> {
        let bytes = text.as_bytes();
        let begins = |firsts: &Bytes, at: usize| firsts[usize::from(bytes[at])];
        let starts: Vec<usize> = (0..text.len()).filter(|&at| begins(&self.firsts, at)).collect();
        let mut taken = vec![false; if starts.is_empty() { 0 } else { text.len() }];
        let mut matches = Vec::new();
        for Length { length, firsts } in &self.lengths {
            let free = starts.iter().copied().filter(|&start| !taken[start] && begins(firsts, start));
            let found = free.filter_map(|start| {
                let id = tokens.id(text.get(start..start + length)?)?;
                is_special(tokens.get(id)?.1, special).then_some((id, start))
            });
            let mut found: Vec<(u32, usize)> = found.collect();
            found.sort_unstable();
            for (id, start) in found {
                let mut end = start + length;
                // What has been taken before is at least as long, and white space touches its token, so that an end of
                // whatever they overlap is covered.
                if taken[start] || taken[end - 1] {
                    continue;
                }
                if self.strip_right.binary_search(&id).is_ok() {
                    end += (end..text.len()).take_while(|&at| !taken[at] && is_space(bytes[at])).count();
                }
                taken[start..end].fill(true);
                matches.push(Match { start, end, id });
            }
        }
        matches
    }
}

/// llama.cpp knows by their name the models whose special tokens take white space with them.
fn is_phi3(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("phi-3") || name.contains("phi3")
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
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
    use crate::tokenizer::token_table::TextIds;

    fn tokens<'a>(tokens: &[(&'a str, TokenType)]) -> Tokens<'a> {
        let (tokens, token_types): (Vec<_>, Vec<_>) = tokens.iter().copied().unzip();
        let (tokens, token_types) = (tokens.into(), token_types.into());
        Tokens::of(&Vocabulary { tokens, token_types, ..Vocabulary::default() })
    }

    fn split<'t>(tokens: &Tokens<'_>, text: &'t str, special: Special) -> Vec<Fragment<'t>> {
        split_of(None, tokens, text, special)
    }

    fn split_of<'t>(name: Option<&str>, tokens: &Tokens<'_>, text: &'t str, special: Special) -> Vec<Fragment<'t>> {
        let ids = TextIds::of(tokens).unwrap();
        SpecialTokens::new(tokens, name).split(ids.table(tokens), text, special)
    }

    /// The definition: each special token in turn, the longest first, in all that is still text.
    fn split_one_by_one<'t>(tokens: &Tokens<'_>, text: &'t str) -> Vec<Fragment<'t>> {
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
    fn white_space_after_the_tokens_of_phi3_is_theirs() {
        use Fragment::{Text, Token};
        let tokens = tokens(&[
            ("<s>", TokenType::Control),
            ("<|end|>", TokenType::Control),
            ("\n\n", TokenType::UserDefined),
            ("\n\n\n\n\n\n\n\n", TokenType::UserDefined),
        ]);
        let split = |name, text| split_of(Some(name), &tokens, text, Special::Parse);
        let text = "<|end|> \t\u{b}\u{c}\r\nx <s> y";
        assert_eq!(split("Phi-3 Mini", text), [Token(1), Text("x "), Token(0), Text(" y")]);
        assert_eq!(split("my PHI3", "<|end|>\u{85}"), [Token(1), Text("\u{85}")]);
        assert_eq!(split("Phi 3", "<|end|> x"), [Token(1), Text(" x")]);
        // A longer token is taken before white space is, a shorter one after.
        assert_eq!(split("phi3", "<|end|> \n\n x\n\n"), [Token(1), Text("x"), Token(2)]);
        assert_eq!(split("phi3", &format!("<|end|> {}", "\n".repeat(11))), [Token(1), Token(3)]);
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
