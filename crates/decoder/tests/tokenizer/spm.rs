//! Vocabularies with scores, against llama.cpp (`tests/data/README.md`) and against themselves.

use std::cell::Cell;
use std::collections::BTreeMap;

use keepq_decoder::tokenizer::{Special, TokenType, Tokenizer, Vocabulary};
use keepq_gguf::Gguf;
use keepq_gguf::write::{WriteError, Writer};
use proptest::prelude::*;
use serde::Deserialize;

use crate::small::SpmVocabulary;
use crate::vectors::{Ids, assert_bytes, assert_ends, assert_ids};

#[derive(Deserialize)]
struct Vectors {
    texts: Vec<String>,
    /// Ids to be decoded.
    lists: Vec<Vec<u32>>,
    ends: Vec<u32>,
    /// Of each token, in hexadecimal digits.
    bytes: Vec<String>,
    variants: BTreeMap<String, Variant>,
}

/// What a file gives that says one thing or another beside its tokens.
#[derive(Deserialize)]
struct Variant {
    #[serde(flatten)]
    ids: Ids,
    /// The bytes of each list, in hexadecimal digits.
    decoded: Vec<String>,
}

/// Runs `check` with the small vocabulary and what `put` adds to it.
fn with_tokenizer<T>(
    put: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
    check: impl FnOnce(&Tokenizer<'_>) -> T,
) -> T {
    let file = SpmVocabulary::load().file(put);
    let gguf = Gguf::parse(&file).expect("small vocabulary");
    check(&Tokenizer::from_gguf(&gguf).expect("small vocabulary"))
}

fn without_space(writer: &mut Writer<'_>) -> Result<(), WriteError> {
    writer.put("tokenizer.ggml.add_space_prefix", false)
}

/// The variants of `make_spm_vectors.py`.
fn put_variant(name: &str, writer: &mut Writer<'_>) -> Result<(), WriteError> {
    match name {
        "defaults" => Ok(()),
        "no space" => {
            without_space(writer)?;
            writer.put("tokenizer.ggml.add_bos_token", false)?;
            writer.put("tokenizer.ggml.add_eos_token", true)
        }
        "phi-3" => writer.put("general.name", "a Phi-3 of a thousand tokens"),
        _ => panic!("no variant {name:?}"),
    }
}

#[test]
fn ids_and_texts_equal_llama_cpp() {
    let vectors: Vectors = serde_json::from_str(include_str!("../data/spm_vectors.json")).expect("test data");
    assert_eq!(vectors.variants.len(), 3);
    for (name, expected) in &vectors.variants {
        with_tokenizer(
            |writer| put_variant(name, writer),
            |tokenizer| {
                let compared = assert_ids(tokenizer, &vectors.texts, &expected.ids, name);
                assert!(compared > 1000);
                assert_ends(tokenizer, &vectors.ends);
                assert_bytes(tokenizer, &vectors.bytes);
                assert_eq!(vectors.lists.len(), expected.decoded.len());
                for (ids, expected) in vectors.lists.iter().zip(&expected.decoded) {
                    let text = tokenizer.decode(ids).expect("in range");
                    assert_eq!(text, String::from_utf8_lossy(&from_hex(expected)), "{name}: {ids:?}");
                }
            },
        );
    }
}

fn from_hex(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Pieces of tokens, characters that are no token, and what is taken out before anything is joined.
fn text() -> impl Strategy<Value = String> {
    let tokens: Vec<String> = SpmVocabulary::load().tokens.iter().map(|token| token.replace('▁', " ")).collect();
    let piece = prop_oneof![
        4 => prop::sample::select(tokens),
        1 => "\\PC{1,8}",
        1 => "[ \t\r\n]{1,12}",
        1 => Just("\0\u{7f}\u{feff}\u{10ffff}".to_owned()),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// `U+2581` comes back as a space, and a text that spells out the token of a byte can become it, as in llama.cpp.
#[test]
fn decoding_gives_the_text_back() {
    let vocabularies = [(SpmVocabulary::lossless(), false), (SpmVocabulary::lossless().without_user_defined(), true)];
    for (vocabulary, space) in vocabularies {
        let file = vocabulary.file(|writer| writer.put("tokenizer.ggml.add_space_prefix", space));
        let gguf = Gguf::parse(&file).expect("small vocabulary");
        let tokenizer = Tokenizer::from_gguf(&gguf).expect("small vocabulary");
        proptest!(|(text in text())| {
            prop_assume!(!text.contains("<0x"));
            let mut ids = Vec::new();
            tokenizer.encode_into(&text, Special::Plain, &mut ids).unwrap();
            prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text.replace('▁', " "));
        });
    }
}

/// Chat templates are encoded piece by piece: a special token is a border that nothing crosses.
#[test]
fn special_tokens_separate() {
    with_tokenizer(
        |_| Ok(()),
        |tokenizer| {
            proptest!(|(left in "[ a-z0-9\n]{0,20}", right in "[ a-z0-9\n]{0,20}")| {
                let mut pieces = Vec::from_iter(tokenizer.bos());
                for piece in [&left, "<|user|>", &right] {
                    tokenizer.encode_into(piece, Special::Parse, &mut pieces).unwrap();
                }
                prop_assert_eq!(tokenizer.encode(&format!("{left}<|user|>{right}"), Special::Parse).unwrap(), pieces);
            });
        },
    );
}

/// A stream continues a prompt, so that only a whole text loses the space that was put before it.
#[test]
fn a_stream_is_the_text_in_pieces() {
    for space in [true, false] {
        with_tokenizer(
            |writer| writer.put("tokenizer.ggml.add_space_prefix", space),
            |tokenizer| {
                let count = u32::try_from(tokenizer.token_count()).unwrap();
                // The tokens of single bytes more often than the others.
                let id = prop_oneof![0..count, 3..259_u32];
                proptest!(|(ids in prop::collection::vec(id, 0..40))| {
                    let mut stream = tokenizer.decode_stream();
                    let mut streamed = String::new();
                    let mut bytes = Vec::new();
                    for &id in &ids {
                        streamed.push_str(stream.push(id).unwrap());
                        bytes.extend(tokenizer.token_bytes(id).unwrap());
                    }
                    streamed.push_str(&stream.finish());
                    prop_assert_eq!(&streamed, &String::from_utf8_lossy(&bytes));
                    let first_is_space = ids.first().is_some_and(|&id| tokenizer.token_bytes(id).unwrap().starts_with(b" "));
                    let text = &streamed[usize::from(space && first_is_space)..];
                    prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text);
                });
            },
        );
    }
}

/// Whatever a file says, it makes an error or a tokenizer whose ids are tokens.
#[test]
fn no_vocabulary_panics() {
    let token = prop_oneof![4 => "[▁ab<>]{0,4}", 1 => "<0x[0-9A-Fg+]{0,3}>?", 1 => Just("日".to_owned())];
    let score = prop_oneof![30 => -3.0..3.0_f32, 1 => any::<f32>(), 1 => Just(f32::INFINITY)];
    let keys = ["tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.unknown_token_id"];
    let vocabulary = (
        prop::collection::hash_map(token, (any::<prop::sample::Index>(), score), 0..24),
        prop::collection::vec((prop::sample::select(keys.to_vec()), 0..12_u32), 0..3),
        (0..3_usize, any::<Option<bool>>(), any::<Option<bool>>(), any::<bool>()),
    );
    let types = [1, 1, 1, 2, 3, 4, 5, 6, 0].map(TokenType::from);
    let made = Cell::new(0);
    proptest!(|((tokens, special_ids, (missing, add_bos, add_space_prefix, phi3)) in vocabulary, text in text())| {
        let tokenizer = Tokenizer::new(Vocabulary {
            model: "llama",
            tokens: tokens.keys().map(String::as_str).collect(),
            token_types: tokens.values().map(|(ty, _)| *ty.get(&types)).collect(),
            scores: tokens.values().skip(missing / 2).map(|(_, score)| *score).collect(),
            add_bos,
            add_space_prefix,
            special_ids,
            name: phi3.then_some("Phi-3"),
            ..Vocabulary::default()
        });
        if let Ok(tokenizer) = tokenizer {
            made.set(made.get() + 1);
            for special in [Special::Parse, Special::Plain] {
                let ids = tokenizer.encode(&text, special).unwrap();
                prop_assert!(tokenizer.decode(&ids).is_ok());
            }
        }
    });
    assert!((32..250).contains(&made.get()), "{} of 256", made.get());
}

/// A text is one word, however long: with a merge step that looks at all of it a megabyte takes hours.
#[test]
fn long_texts() {
    let letters: String = (0..1_000_000_u64).map(|i| char::from(b'a' + (i * i / 7 % 26) as u8)).collect();
    let runs = ["a", "é", "\n", " ", "= ", "<"].map(|piece| piece.repeat(1_000_000 / piece.len()));
    let file = SpmVocabulary::lossless().file(without_space);
    let gguf = Gguf::parse(&file).expect("small vocabulary");
    let tokenizer = Tokenizer::from_gguf(&gguf).expect("small vocabulary");
    for text in runs.into_iter().chain([letters]) {
        let mut ids = Vec::new();
        tokenizer.encode_into(&text, Special::Parse, &mut ids).unwrap();
        assert!(tokenizer.decode(&ids).unwrap() == text, "{:?}…", text.chars().take(9).collect::<String>());
    }
}
