//! [`PreTokenizer`]: splits text into words, which the merges then never cross.
//!
//! `tokenizer.ggml.pre` names the rule: patterns that were published with the models (GPT-2's `encoder.py`, the
//! `tokenizer.json` of the others), here in the form in which llama.cpp has them. They are run with two changes
//! that leave every split as it is:
//!
//! * Most end in `\s+(?!\S)|\s+`: of a run of white space, the last character is left to the word that follows. A
//!   look-ahead takes a backtracking engine, which gives up on long runs; so the pattern is run with `\s+` alone,
//!   and [`Step::left_to_next_word`] shortens the run. That is linear in the text and cannot fail.
//! * llama.cpp's tables of letters, numbers and punctuation are those of Unicode 15.1. A newer table would split
//!   text in the scripts added since in another way, so the classes are pinned to that version.

use regex::Regex;

use super::error::TokenizerError;
use crate::error::shown;

/// The Unicode version of llama.cpp's character tables.
const UNICODE_VERSION: &str = "15.1";

/// What `tokenizer.ggml.pre` stands for.
#[derive(Debug)]
pub(super) struct PreTokenizerRules {
    /// The values of the key.
    pub(super) names: &'static [&'static str],
    /// Patterns, each applied to the pieces that the one before has left. What a pattern does not match is a piece
    /// too.
    patterns: &'static [&'static str],
    /// Whether a word that is a token is taken whole, without a look at the merges.
    pub(super) whole_words: bool,
    /// Whether BOS is added where the file does not say.
    pub(super) adds_bos: bool,
}

/// GPT-2's words: a contraction; letters, digits or signs with the space before them; white space.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// Llama 3's words: letters with the sign before them, three digits at most, signs with the line ends after them.
const LLAMA3: &str = concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// Qwen 2's words: as Llama 3's, every digit by itself.
const QWEN2: &str = concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// Qwen 3.5's words: as Qwen 2's, with the marks that combine with letters among the letters.
const QWEN35: &str = concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// How most patterns end.
const WHITE_SPACE: &str = r"|\s+(?!\S)|\s+";
/// The alternative before it in patterns that keep the white space at the end of a line together.
const LINE_ENDS: &str = r"|\s*[\r\n]+";

/// Every pre-tokenizer that is known. The names, and what else they imply, are llama.cpp's.
pub(super) static PRE_TOKENIZERS: [PreTokenizerRules; 7] = [
    PreTokenizerRules {
        names: &["gpt-2", "phi-2", "mpt", "olmo", "jais"],
        patterns: &[GPT2],
        whole_words: false,
        adds_bos: false,
    },
    PreTokenizerRules {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"],
        patterns: &[r"\p{N}", GPT2],
        whole_words: false,
        adds_bos: false,
    },
    PreTokenizerRules {
        names: &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        patterns: &[LLAMA3],
        whole_words: true,
        adds_bos: true,
    },
    PreTokenizerRules { names: &["dbrx", "smaug-bpe"], patterns: &[LLAMA3], whole_words: false, adds_bos: false },
    PreTokenizerRules {
        names: &["qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open"],
        patterns: &[QWEN2],
        whole_words: false,
        adds_bos: false,
    },
    PreTokenizerRules { names: &["qwen35"], patterns: &[QWEN35], whole_words: false, adds_bos: false },
    PreTokenizerRules {
        names: &["default"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
        whole_words: false,
        adds_bos: false,
    },
];

impl PreTokenizerRules {
    /// The rules that a value of `tokenizer.ggml.pre` stands for.
    pub(super) fn named(name: &str) -> Result<&'static Self, TokenizerError> {
        PRE_TOKENIZERS
            .iter()
            .find(|rules| rules.names.contains(&name))
            .ok_or_else(|| TokenizerError::UnsupportedPreTokenizer { found: shown(name) })
    }
}

/// Splits text into words.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    steps: Vec<Step>,
}

/// A compiled pattern.
#[derive(Debug)]
struct Step {
    /// The pattern without its look-ahead.
    words: Regex,
    white_space: WhiteSpace,
}

/// What a pattern has to say about white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhiteSpace {
    /// Nothing.
    Unmatched,
    /// A run leaves its last character to the next word.
    Runs,
    /// The same, but a run up to the end of a line is kept together.
    RunsWithinLines,
}

impl PreTokenizer {
    pub(super) fn new(rules: &PreTokenizerRules) -> Self {
        Self { steps: rules.patterns.iter().map(|pattern| Step::new(pattern)).collect() }
    }

    /// The words of `text`, one after another; none of it is left out.
    pub(super) fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = vec![text];
        for step in &self.steps {
            let mut split = Vec::new();
            for piece in pieces {
                step.split(piece, &mut split);
            }
            pieces = split;
        }
        pieces
    }
}

impl Step {
    fn new(pattern: &str) -> Self {
        let (pattern, white_space) = match pattern.strip_suffix(WHITE_SPACE) {
            None => (pattern.to_owned(), WhiteSpace::Unmatched),
            Some(words) if words.ends_with(LINE_ENDS) => (format!(r"{words}|\s+"), WhiteSpace::RunsWithinLines),
            Some(words) => (format!(r"{words}|\s+"), WhiteSpace::Runs),
        };
        Self { words: Regex::new(&pinned(&pattern)).expect("a constant that the tests compile"), white_space }
    }

    fn split<'t>(&self, text: &'t str, pieces: &mut Vec<&'t str>) {
        let mut done = 0;
        while let Some(word) = self.words.find_at(text, done) {
            let end = word.end() - self.left_to_next_word(word.as_str(), &text[word.end()..]);
            if done < word.start() {
                pieces.push(&text[done..word.start()]);
            }
            pieces.push(&text[word.start()..end]);
            done = end;
        }
        if done < text.len() {
            pieces.push(&text[done..]);
        }
    }

    /// Bytes at the end of a match that belong to the word after it: the last character of a run of white space,
    /// unless it is the only one. Nothing else that a pattern matches ends in white space, but for line ends.
    fn left_to_next_word(&self, found: &str, rest: &str) -> usize {
        let Some(last) = found.chars().next_back().filter(|last| last.is_whitespace()) else { return 0 };
        let is_run = match self.white_space {
            WhiteSpace::Unmatched => false,
            WhiteSpace::Runs => true,
            WhiteSpace::RunsWithinLines => !matches!(last, '\r' | '\n'),
        };
        if is_run && !rest.is_empty() && found.len() > last.len_utf8() { last.len_utf8() } else { 0 }
    }
}

/// The pattern with its classes of characters pinned to [`UNICODE_VERSION`].
fn pinned(pattern: &str) -> String {
    [r"\p{L}", r"\p{M}", r"\p{N}", r"\p{P}"].iter().fold(pattern.to_owned(), |pattern, class| {
        pattern.replace(class, &format!(r"[{class}&&\p{{age={UNICODE_VERSION}}}]"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The published patterns, look-ahead included, one after another.
    fn split_as_published<'t>(patterns: &[fancy_regex::Regex], text: &'t str) -> Vec<&'t str> {
        let mut pieces = vec![text];
        for pattern in patterns {
            let split = |piece: &'t str| {
                let mut done = 0;
                let mut split = Vec::new();
                for word in pattern.find_iter(piece).map(Result::unwrap) {
                    split.extend([&piece[done..word.start()], word.as_str()]);
                    done = word.end();
                }
                split.push(&piece[done..]);
                split
            };
            pieces = pieces.into_iter().flat_map(split).filter(|piece| !piece.is_empty()).collect();
        }
        pieces
    }

    #[test]
    fn splits_are_those_of_the_published_patterns() {
        // Short alphabets of what the patterns tell apart, so that their borders meet.
        let text = prop_oneof![
            "[ \t\r\na1.]{0,16}",
            "[ '\u{2019}sSTlLveRm\n]{0,16}",
            "[ \u{a0}\u{3000}\u{85}\u{2028}\u{b}\nx9!]{0,16}",
            "[ é\u{301}日Ⅷ٣½²ſ\u{1f600}\u{200d}_$€、]{0,16}",
            "\\PC{0,16}",
        ];
        for rules in &PRE_TOKENIZERS {
            let pre_tokenizer = PreTokenizer::new(rules);
            let published: Vec<_> =
                rules.patterns.iter().map(|pattern| fancy_regex::Regex::new(&pinned(pattern)).unwrap()).collect();
            proptest!(|(text in &text)| {
                prop_assert_eq!(pre_tokenizer.split(&text), split_as_published(&published, &text), "{:?}", rules.names);
            });
        }
    }

    /// Where a backtracking engine runs out of stack.
    #[test]
    fn runs_of_any_length() {
        let run = " ".repeat(2_000_000);
        for rules in &PRE_TOKENIZERS {
            let text = run.clone() + "xy";
            let pre_tokenizer = PreTokenizer::new(rules);
            assert!(pre_tokenizer.split(&text) == [&run[1..], " xy"], "{:?}", rules.names);
            assert!(pre_tokenizer.split(&run) == [run.as_str()], "{:?}", rules.names);
        }
    }

    /// U+105C0 is a letter since Unicode 16, U+2EBF0 since 15.1.
    #[test]
    fn classes_are_those_of_unicode_15_1() {
        let gpt2 = PreTokenizer::new(PreTokenizerRules::named("gpt-2").unwrap());
        assert_eq!(gpt2.split("a\u{105c0}b"), ["a", "\u{105c0}", "b"]);
        assert_eq!(gpt2.split("a\u{2ebf0}b"), ["a\u{2ebf0}b"]);
    }

    /// A name in two rules would have the second never found.
    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = PRE_TOKENIZERS.iter().flat_map(|rules| rules.names).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
