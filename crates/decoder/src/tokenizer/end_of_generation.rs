//! The tokens at which a model has finished its answer.
//!
//! Files seldom name all of them, so llama.cpp knows them by their text, and so does this list: a model that ends
//! its turn with `<|im_end|>` while its file only names `<|endoftext|>` would never stop. llama.cpp also makes
//! control tokens of them, which matters where text is encoded with
//! [`Special::Plain`](super::Special::Plain).

use std::collections::HashMap;

use super::tokens::Tokens;
use super::vocabulary::{Vocabulary, keys};

/// Texts that end generation wherever a vocabulary has them.
const TEXTS: [&str; 21] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
];

/// A mark of fill-in-the-middle prompts: its id is the key's, or that of the first of `texts` (a space between them)
/// that is a token.
struct FimMark {
    key: &'static str,
    texts: &'static str,
    /// Whether a model that generates it has left the part it was to fill in.
    ends_generation: bool,
}

const FIM_MARKS: [FimMark; 6] = [
    FimMark {
        key: keys::FIM_PRE,
        texts: "<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|>",
        ends_generation: false,
    },
    FimMark {
        key: keys::FIM_SUF,
        texts: "<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|>",
        ends_generation: false,
    },
    FimMark {
        key: keys::FIM_MID,
        texts: "<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|>",
        ends_generation: false,
    },
    FimMark { key: keys::FIM_PAD, texts: "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]", ends_generation: true },
    FimMark {
        key: keys::FIM_REP,
        texts: "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>",
        ends_generation: true,
    },
    FimMark { key: keys::FIM_SEP, texts: "<|file_sep|>", ends_generation: true },
];

/// The tokens that end generation, sorted. Those known by their text become control tokens.
pub(super) fn find(vocabulary: &Vocabulary<'_>, tokens: &mut Tokens<'_>) -> Vec<u32> {
    let known = known_ids(tokens);
    let mut ids: Vec<u32> =
        [keys::EOS, keys::EOT, keys::EOM].iter().filter_map(|key| vocabulary.special_id(key)).collect();
    for &id in TEXTS.iter().filter_map(|text| known.get(text)) {
        tokens.set_control(id);
        ids.push(id);
    }
    for mark in &FIM_MARKS {
        let id = vocabulary.special_id(mark.key).or_else(|| {
            let id = *mark.texts.split(' ').find_map(|text| known.get(text))?;
            tokens.set_control(id);
            Some(id)
        });
        if mark.ends_generation {
            ids.extend(id);
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The ids of all texts above that are tokens, by one walk over the vocabulary: a table of all texts takes longer to make.
fn known_ids(tokens: &Tokens<'_>) -> HashMap<&'static str, u32> {
    let texts: HashMap<&str, ()> = TEXTS
        .into_iter()
        .chain(FIM_MARKS.iter().flat_map(|mark| mark.texts.split(' ')))
        .map(|text| (text, ()))
        .collect();
    let mut last_bytes = [false; 256];
    for last in texts.keys().filter_map(|text| text.bytes().next_back()) {
        last_bytes[usize::from(last)] = true;
    }
    let mut known = HashMap::new();
    for (id, text, _) in tokens.iter() {
        if text.bytes().next_back().is_some_and(|last| last_bytes[usize::from(last)])
            && let Some((text, ())) = texts.get_key_value(text)
        {
            known.entry(*text).or_insert(id);
        }
    }
    known
}
