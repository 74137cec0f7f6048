//! What holds for any text and any ids.

use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_gguf::Gguf;
use proptest::prelude::*;

use crate::small::{PRE_TOKENIZERS, SmallVocabulary};

/// Runs `check` with a tokenizer that has a token for every byte.
fn with_tokenizer<T>(pre: &str, check: impl FnOnce(&Tokenizer<'_>) -> T) -> T {
    let file = SmallVocabulary::with_every_byte().file(pre);
    let gguf = Gguf::parse(&file).expect("small vocabulary");
    check(&Tokenizer::from_gguf(&gguf).expect("small vocabulary"))
}

/// Texts of the kinds that the pre-tokenizers tell apart, special tokens among them.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{1,8}",
        "[ \t\r\n\u{a0}\u{3000}]{1,6}",
        "[a-zA-Z'sStTlLeE]{1,12}",
        "[0-9٣Ⅷ½]{1,6}",
        "[!-/:-@。、]{1,4}",
        "[\u{300}-\u{30f}\u{1f600}-\u{1f60f}\u{200d}]{1,4}",
        Just("<|im_start|>".to_owned()),
        Just("<thing>".to_owned()),
        Just("\0\u{7f}\u{feff}\u{10ffff}".to_owned()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn decoding_gives_the_text_back() {
    for pre in PRE_TOKENIZERS {
        with_tokenizer(pre, |tokenizer| {
            proptest!(|(text in text())| {
                for special in [Special::Parse, Special::Plain] {
                    let mut ids = Vec::new();
                    tokenizer.encode_into(&text, special, &mut ids).unwrap();
                    prop_assert_eq!(&tokenizer.decode(&ids).unwrap(), &text);
                }
            });
        });
    }
}

/// Chat templates are encoded piece by piece: a special token is a border that nothing crosses.
#[test]
fn special_tokens_separate() {
    with_tokenizer("smollm", |tokenizer| {
        proptest!(|(left in "[ a-z0-9\n]{0,20}", right in "[ a-z0-9\n]{0,20}")| {
            let mut pieces = Vec::new();
            for piece in [&left, "<|im_end|>", &right] {
                tokenizer.encode_into(piece, Special::Parse, &mut pieces).unwrap();
            }
            prop_assert_eq!(tokenizer.encode(&format!("{left}<|im_end|>{right}"), Special::Parse).unwrap(), pieces);
        });
    });
}

/// Random ids are mostly broken UTF-8; a stream must neither lose nor invent anything.
#[test]
fn a_stream_is_the_text_in_pieces() {
    with_tokenizer("smollm", |tokenizer| {
        let count = u32::try_from(tokenizer.token_count()).unwrap();
        // The tokens of single bytes more often than the others.
        let id = prop_oneof![0..count, 17..252_u32, 100..200_u32];
        proptest!(|(ids in prop::collection::vec(id, 0..40))| {
            let mut stream = tokenizer.decode_stream();
            let mut streamed = String::new();
            for &id in &ids {
                streamed.push_str(stream.push(id).unwrap());
            }
            streamed.push_str(&stream.finish());
            prop_assert_eq!(streamed, tokenizer.decode(&ids).unwrap());
        });
    });
}

#[test]
fn a_stream_waits_for_whole_characters() {
    with_tokenizer("smollm", |tokenizer| {
        let text = "añ日😀!";
        let mut stream = tokenizer.decode_stream();
        let mut shown = Vec::new();
        for id in tokenizer.encode(text, Special::Parse).unwrap() {
            let piece = stream.push(id).unwrap();
            assert!(text.contains(piece), "{piece:?}");
            shown.extend((!piece.is_empty()).then(|| piece.to_owned()));
        }
        assert_eq!(shown.concat(), text);
        assert_eq!(shown.last().unwrap(), "!");
        assert_eq!(stream.finish(), "");
    });
}

#[test]
fn a_stream_survives_a_bad_id_and_ends_a_broken_character() {
    with_tokenizer("smollm", |tokenizer| {
        let ids = tokenizer.encode("😀", Special::Parse).unwrap();
        let (first, rest) = ids.split_first().unwrap();

        let mut stream = tokenizer.decode_stream();
        assert_eq!(stream.push(*first).unwrap(), "");
        let beyond = u32::try_from(tokenizer.token_count()).unwrap();
        assert_eq!(
            stream.push(beyond).unwrap_err().to_string(),
            format!("token id {beyond} is out of range, the vocabulary has {beyond} tokens")
        );
        let text: String = rest.iter().map(|&id| stream.push(id).unwrap().to_owned()).collect();
        assert_eq!(text, "😀");

        let mut stream = tokenizer.decode_stream();
        assert_eq!(stream.push(*first).unwrap(), "");
        assert_eq!(stream.finish(), "\u{fffd}");
    });
}

/// A word of 100,000 characters: with a merge step that looks at all of the word this takes minutes.
#[test]
fn long_words() {
    let letters: String = (0..100_000_u64).map(|i| char::from(b'a' + (i * i / 7 % 26) as u8)).collect();
    let texts = [letters].into_iter().chain(["a", "日", "9", "-", " "].map(|c| c.repeat(100_000)));
    with_tokenizer("gpt-2", |tokenizer| {
        for text in texts {
            let ids = tokenizer.encode(&text, Special::Parse).unwrap();
            assert!(tokenizer.decode(&ids).unwrap() == text, "{:?}…", &text[..9]);
        }
    });
}
