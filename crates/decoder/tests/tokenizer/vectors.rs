//! Ids and bytes that llama.cpp gave (`tests/data/README.md`).

use std::collections::BTreeMap;
use std::io::Write;

use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_gguf::{Gguf, Source};
use serde::Deserialize;

use crate::small::{PRE_TOKENIZERS, SmallVocabulary};

/// The variable that names SmolLM2-135M-Instruct as a GGUF file.
const SMOLLM2: &str = "KEEPQ_SMOLLM2";

#[derive(Deserialize)]
struct Ids {
    /// Of each text with special tokens parsed.
    parse: Vec<Vec<u32>>,
    /// By the index of the text, with special tokens as text, where that gives other ids.
    plain: BTreeMap<String, Vec<u32>>,
}

#[derive(Deserialize)]
struct Smollm2 {
    texts: Vec<String>,
    ends: Vec<u32>,
    #[serde(flatten)]
    ids: Ids,
}

#[derive(Deserialize)]
struct Small {
    texts: Vec<String>,
    ends: Vec<u32>,
    /// Of each token, in hexadecimal digits.
    bytes: Vec<String>,
    pre: BTreeMap<String, Ids>,
}

impl Small {
    fn load() -> Self {
        serde_json::from_str(include_str!("../data/vocabulary_vectors.json")).expect("test data")
    }
}

/// Every text, both ways; gives the number of comparisons.
fn assert_ids(tokenizer: &Tokenizer<'_>, texts: &[String], expected: &Ids, what: &str) -> usize {
    assert_eq!(texts.len(), expected.parse.len());
    for (index, text) in texts.iter().enumerate() {
        let parse = &expected.parse[index];
        assert_eq!(tokenizer.encode(text, Special::Parse), *parse, "{what}, parsed: {text:?}");
        let plain = expected.plain.get(&index.to_string()).unwrap_or(parse);
        assert_eq!(tokenizer.encode(text, Special::Plain), *plain, "{what}, plain: {text:?}");
    }
    2 * texts.len()
}

fn assert_ends(tokenizer: &Tokenizer<'_>, expected: &[u32]) {
    let ids = 0..u32::try_from(tokenizer.token_count()).expect("a few thousand");
    let ends: Vec<u32> = ids.filter(|&id| tokenizer.is_end_of_generation(id)).collect();
    assert_eq!(ends, expected);
    assert!(ends.iter().all(|&id| tokenizer.is_control(id)));
}

/// Prints past the test runner, which keeps to itself what a test that passes prints.
fn say(what: std::fmt::Arguments<'_>) {
    writeln!(std::io::stdout(), "SmolLM2 vectors: {what}").expect("stdout");
}

#[test]
fn ids_equal_llama_cpp_for_every_way_to_split() {
    let vectors = Small::load();
    assert!(vectors.pre.keys().all(|pre| PRE_TOKENIZERS.contains(&pre.as_str())));
    for pre in PRE_TOKENIZERS {
        let file = SmallVocabulary::load().file(pre);
        let gguf = Gguf::parse(&file).expect(pre);
        let tokenizer = Tokenizer::from_gguf(&gguf).expect(pre);
        let compared = assert_ids(&tokenizer, &vectors.texts, &vectors.pre[pre], pre);
        assert!(compared > 500);
        assert_ends(&tokenizer, &vectors.ends);
    }
}

#[test]
fn bytes_of_every_token_equal_llama_cpp() {
    let file = SmallVocabulary::load().file("smollm");
    let gguf = Gguf::parse(&file).expect("small vocabulary");
    let tokenizer = Tokenizer::from_gguf(&gguf).expect("small vocabulary");
    let expected = Small::load().bytes;
    assert_eq!(tokenizer.token_count(), expected.len());
    for (id, expected) in (0..).zip(&expected) {
        let bytes = tokenizer.token_bytes(id).expect("in range");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, *expected, "token {id}");
    }
}

#[test]
fn smollm2_ids_equal_llama_cpp() {
    let Some(path) = std::env::var_os(SMOLLM2) else {
        say(format_args!("skipped: {SMOLLM2} is not set to the path of SmolLM2-135M-Instruct as GGUF"));
        return;
    };
    let source = Source::map(path).expect(SMOLLM2);
    let gguf = source.parse().expect(SMOLLM2);
    let tokenizer = Tokenizer::from_gguf(&gguf).expect(SMOLLM2);
    let vectors: Smollm2 = serde_json::from_str(include_str!("../data/smollm2.json")).expect("test data");

    let compared = assert_ids(&tokenizer, &vectors.texts, &vectors.ids, "SmolLM2");
    assert_ends(&tokenizer, &vectors.ends);
    say(format_args!("{compared} encodings of {} texts agree", vectors.texts.len()));
}
