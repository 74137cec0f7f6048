//! Ids and bytes that llama.cpp gave (`tests/data/README.md`).

use std::collections::BTreeMap;
use std::io::Write;

use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_gguf::{Gguf, Source};
use serde::Deserialize;

use crate::small::{PRE_TOKENIZERS, SmallVocabulary};

/// The variable that names SmolLM2-135M-Instruct as a GGUF file.
const SMOLLM2: &str = "KEEPQ_SMOLLM2";
/// The variable that names Gemma 3 270M as a GGUF file.
const GEMMA: &str = "KEEPQ_GEMMA";

#[derive(Deserialize)]
pub(crate) struct Ids {
    /// Of each text with special tokens parsed.
    parse: Vec<Vec<u32>>,
    /// By the index of the text, with special tokens as text, where that gives other ids.
    plain: BTreeMap<String, Vec<u32>>,
}

/// What there is of a whole vocabulary.
#[derive(Deserialize)]
struct Whole {
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
pub(crate) fn assert_ids(tokenizer: &Tokenizer<'_>, texts: &[String], expected: &Ids, what: &str) -> usize {
    assert_eq!(texts.len(), expected.parse.len());
    for (index, text) in texts.iter().enumerate() {
        let parse = &expected.parse[index];
        assert_eq!(tokenizer.encode(text, Special::Parse).unwrap(), *parse, "{what}, parsed: {text:?}");
        let plain = expected.plain.get(&index.to_string()).unwrap_or(parse);
        assert_eq!(tokenizer.encode(text, Special::Plain).unwrap(), *plain, "{what}, plain: {text:?}");
    }
    2 * texts.len()
}

pub(crate) fn assert_ends(tokenizer: &Tokenizer<'_>, expected: &[u32]) {
    let ids = 0..u32::try_from(tokenizer.token_count()).expect("a few thousand");
    let ends: Vec<u32> = ids.filter(|&id| tokenizer.is_end_of_generation(id)).collect();
    assert_eq!(ends, expected);
    assert!(ends.iter().all(|&id| tokenizer.is_control(id)));
}

/// The bytes of every token, in hexadecimal digits.
pub(crate) fn assert_bytes(tokenizer: &Tokenizer<'_>, expected: &[String]) {
    assert_eq!(tokenizer.token_count(), expected.len());
    for (id, expected) in (0..).zip(expected) {
        let bytes = tokenizer.token_bytes(id).expect("in range");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, *expected, "token {id}");
    }
}

/// Runs `check` with the tokenizer of the file that a variable names; without one, says so.
fn with_model(variable: &str, model: &str, check: impl FnOnce(&Tokenizer<'_>) -> usize) {
    // Past the test runner, which keeps to itself what a test that passes prints.
    let say = |what: &str| writeln!(std::io::stdout(), "{model} vectors: {what}").expect("stdout");
    let Some(path) = std::env::var_os(variable) else {
        return say(&format!("skipped: {variable} is not set to the path of {model} as GGUF"));
    };
    let source = Source::map(path).expect(variable);
    let gguf = source.parse().expect(variable);
    let compared = check(&Tokenizer::from_gguf(&gguf).expect(variable));
    say(&format!("{compared} encodings agree"));
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
    assert_bytes(&Tokenizer::from_gguf(&gguf).expect("small vocabulary"), &Small::load().bytes);
}

#[test]
fn smollm2_ids_equal_llama_cpp() {
    let vectors: Whole = serde_json::from_str(include_str!("../data/smollm2.json")).expect("test data");
    with_model(SMOLLM2, "SmolLM2-135M-Instruct", |tokenizer| {
        assert_ends(tokenizer, &vectors.ends);
        assert_ids(tokenizer, &vectors.texts, &vectors.ids, "SmolLM2")
    });
}

#[test]
fn gemma_3_ids_equal_llama_cpp() {
    let vectors: Whole = serde_json::from_str(include_str!("../data/gemma3.json")).expect("test data");
    with_model(GEMMA, "Gemma 3 270M", |tokenizer| {
        assert_ends(tokenizer, &vectors.ends);
        assert_ids(tokenizer, &vectors.texts, &vectors.ids, "Gemma 3") + assert_prompts(tokenizer)
    });
}

/// The prompts of the token oracle, which another build of llama.cpp has made.
fn assert_prompts(tokenizer: &Tokenizer<'_>) -> usize {
    #[derive(Deserialize)]
    struct Oracle {
        prompts: Vec<Prompt>,
    }
    #[derive(Deserialize)]
    struct Prompt {
        prompt: String,
        prompt_ids: Vec<u32>,
    }
    let oracle = include_str!("../../../../goldens/tokens/gemma-3-270m-q4_k_m.json");
    let oracle: Oracle = serde_json::from_str(oracle).expect("a token oracle");
    for Prompt { prompt, prompt_ids } in &oracle.prompts {
        assert_eq!(tokenizer.encode(prompt, Special::Parse).unwrap(), *prompt_ids, "{prompt:?}");
    }
    oracle.prompts.len()
}
