//! What a file may say, and the errors where it may not.

use keepq_decoder::tokenizer::{Special, Tokenizer, TokenizerError};
use keepq_gguf::Gguf;
use keepq_gguf::write::{PutValue, Writer};

/// A file of four tokens; a test leaves keys out and puts others in.
struct File(Writer<'static>);

impl File {
    /// All that a tokenizer needs except for the keys in `without`.
    fn new(without: &[&str]) -> Self {
        let mut file = Self(Writer::new());
        if !without.contains(&"model") {
            file = file.put("tokenizer.ggml.model", "gpt2");
        }
        if !without.contains(&"pre") {
            file = file.put("tokenizer.ggml.pre", "gpt-2");
        }
        if !without.contains(&"tokens") {
            file = file.put("tokenizer.ggml.tokens", ["a", "b", "ab", "<|end|>"]);
        }
        if !without.contains(&"merges") {
            file = file.put("tokenizer.ggml.merges", ["a b"]);
        }
        file
    }

    /// The same for a file with scores.
    fn spm(without: &[&str]) -> Self {
        let mut file = Self(Writer::new()).put("tokenizer.ggml.model", "llama");
        if !without.contains(&"tokens") {
            file = file.put("tokenizer.ggml.tokens", ["<unk>", "<s>", "</s>", "a", "▁a"]);
        }
        if !without.contains(&"scores") {
            file = file.put("tokenizer.ggml.scores", [0.0_f32; 5]);
        }
        file
    }

    fn put(mut self, key: &str, value: impl PutValue) -> Self {
        self.0.put(key, value).expect("legal metadata");
        self
    }

    /// Runs `check` with the file's tokenizer.
    fn read<T>(self, check: impl FnOnce(Result<Tokenizer<'_>, TokenizerError>) -> T) -> T {
        let mut bytes = Vec::new();
        self.0.write_to(&mut bytes).expect("written to memory");
        check(Tokenizer::from_gguf(&Gguf::parse(&bytes).expect("a legal file")))
    }

    fn error(self) -> String {
        self.read(|tokenizer| {
            tokenizer.and_then(|tokenizer| tokenizer.encode("", Special::Parse)).expect_err("an error").to_string()
        })
    }

    fn ids(self, text: &str) -> Vec<u32> {
        self.read(|tokenizer| tokenizer.expect("a tokenizer").encode(text, Special::Parse).expect("ids"))
    }
}

#[test]
fn the_least_file() {
    File::new(&[]).read(|tokenizer| {
        let tokenizer = tokenizer.expect("a tokenizer");
        assert_eq!(tokenizer.encode("abba<|end|>", Special::Parse).unwrap(), [2, 1, 0, 3]);
        assert_eq!((tokenizer.bos(), tokenizer.eos()), (None, None));
        assert_eq!(tokenizer.token_count(), 4);
    });
}

#[test]
fn missing_keys() {
    assert_eq!(File::new(&["model"]).error(), r#"key "tokenizer.ggml.model": not in the file"#);
    for key in ["pre", "tokens", "merges"] {
        assert_eq!(
            File::new(&[key]).error(),
            format!(r#"key "tokenizer.ggml.{key}": not in the file or empty, and the tokenizer needs it"#)
        );
    }
}

#[test]
fn unsupported_values() {
    assert_eq!(
        File::new(&["model"]).put("tokenizer.ggml.model", "bert").error(),
        r#"key "tokenizer.ggml.model": tokenizer "bert" is not supported, expected "gpt2" or "llama""#
    );
    let error = File::new(&["pre"]).put("tokenizer.ggml.pre", "tekken").error();
    assert!(
        error.starts_with(
            r#"key "tokenizer.ggml.pre": pre-tokenizer "tekken" is not supported, expected one of gpt-2, phi-2, "#
        ),
        "{error}"
    );
    // A name of any length is still one line.
    assert!(File::new(&["model"]).put("tokenizer.ggml.model", "x\n".repeat(9999).as_str()).error().len() < 300);
}

#[test]
fn values_of_another_type() {
    for (error, key, expected) in [
        (File::new(&["model"]).put("tokenizer.ggml.model", 1_u32).error(), "model", "a string"),
        (File::new(&["pre"]).put("tokenizer.ggml.pre", true).error(), "pre", "a string"),
        (File::new(&["tokens"]).put("tokenizer.ggml.tokens", [1_i32, 2]).error(), "tokens", "each element a string"),
        (File::new(&["tokens"]).put("tokenizer.ggml.tokens", "a").error(), "tokens", "each element a string"),
        (File::new(&["merges"]).put("tokenizer.ggml.merges", [0.5_f32]).error(), "merges", "each element a string"),
        (File::new(&[]).put("tokenizer.ggml.token_type", ["1"]).error(), "token_type", "an integer that fits i32"),
        (File::new(&[]).put("tokenizer.ggml.bos_token_id", -1_i32).error(), "bos_token_id", "an integer that fits u32"),
        (File::new(&[]).put("tokenizer.ggml.eot_token_id", "2").error(), "eot_token_id", "an integer that fits u32"),
        (File::new(&[]).put("tokenizer.ggml.add_bos_token", 1_u32).error(), "add_bos_token", "a boolean"),
    ] {
        assert!(error.contains(&format!("\"tokenizer.ggml.{key}\"")) && error.contains(expected), "{error}");
    }
}

#[test]
fn arrays_that_do_not_fit_the_tokens() {
    assert_eq!(
        File::new(&[]).put("tokenizer.ggml.token_type", [1_i32, 1, 1]).error(),
        r#"key "tokenizer.ggml.token_type": expected an element for each of the 4 tokens, found 3"#
    );
    assert_eq!(
        File::new(&["tokens"]).put("tokenizer.ggml.tokens", ["a", "b", "a"]).error(),
        r#"key "tokenizer.ggml.tokens": tokens 0 and 2 have the same text "a""#
    );
    assert_eq!(
        File::new(&["tokens"]).put("tokenizer.ggml.tokens", [""; 0]).error(),
        r#"key "tokenizer.ggml.tokens": not in the file or empty, and the tokenizer needs it"#
    );
}

#[test]
fn special_ids() {
    assert_eq!(
        File::new(&[]).put("tokenizer.ggml.eos_token_id", 4_u32).error(),
        r#"key "tokenizer.ggml.eos_token_id": token id 4 is out of range, the vocabulary has 4 tokens"#
    );
    for add in ["bos", "eos"] {
        let (key, flag) = (format!("tokenizer.ggml.{add}_token_id"), format!("tokenizer.ggml.add_{add}_token"));
        let error = format!(r#"key "{key}": not in the file or empty, and the tokenizer needs it"#);
        assert_eq!(File::new(&[]).put(&flag, true).error(), error);
        assert_eq!(File::new(&[]).put(&flag, false).put(&key, 1_u32).ids("a"), [0]);
    }
    // Llama 3's rules add BOS where the file does not say.
    let llama3 = || File::new(&["pre"]).put("tokenizer.ggml.pre", "llama-bpe");
    assert_eq!(
        llama3().error(),
        r#"key "tokenizer.ggml.bos_token_id": not in the file or empty, and the tokenizer needs it"#
    );
    assert_eq!(llama3().put("tokenizer.ggml.bos_token_id", 3_u32).ids("ab"), [3, 2]);
}

#[test]
fn bos_and_eos_are_for_whole_texts() {
    let file = ["bos", "eos"].iter().zip([1_u32, 0]).fold(File::new(&[]), |file, (which, id)| {
        let file = file.put(&format!("tokenizer.ggml.{which}_token_id"), id);
        file.put(&format!("tokenizer.ggml.add_{which}_token"), true)
    });
    file.read(|tokenizer| {
        let tokenizer = tokenizer.expect("a tokenizer");
        assert_eq!(tokenizer.encode("", Special::Parse).unwrap(), [1, 0]);
        let mut ids = tokenizer.encode("ab", Special::Parse).unwrap();
        assert_eq!(ids, [1, 2, 0]);
        tokenizer.encode_into("ab", Special::Parse, &mut ids).unwrap();
        assert_eq!(ids, [1, 2, 0, 2]);
        assert!(tokenizer.is_end_of_generation(0), "EOS");
    });
}

#[test]
fn scores() {
    for key in ["tokens", "scores"] {
        assert_eq!(
            File::spm(&[key]).error(),
            format!(r#"key "tokenizer.ggml.{key}": not in the file or empty, and the tokenizer needs it"#)
        );
    }
    let with = |scores: &[f32]| File::spm(&["scores"]).put("tokenizer.ggml.scores", scores);
    assert_eq!(
        with(&[0.0; 4]).error(),
        r#"key "tokenizer.ggml.scores": expected an element for each of the 5 tokens, found 4"#
    );
    assert_eq!(
        with(&[0.0, 0.0, 0.0, f32::NAN, 0.0]).error(),
        r#"key "tokenizer.ggml.scores": the score of token 3 is not a number"#
    );
    assert_eq!(with(&[f32::NEG_INFINITY, 0.0, -0.0, 1.0, f32::INFINITY, f32::NAN]).ids("a"), [1, 4]);
    for error in [
        File::spm(&["scores"]).put("tokenizer.ggml.scores", [1_i32; 5]).error(),
        File::spm(&["scores"]).put("tokenizer.ggml.scores", 1.0_f32).error(),
        File::spm(&["scores"]).put("tokenizer.ggml.scores", ["1"; 5]).error(),
    ] {
        assert!(error.contains(r#"key "tokenizer.ggml.scores""#) && error.contains("a float that fits f32"), "{error}");
    }
    // They are no business of a file of the other kind.
    assert_eq!(File::new(&[]).put("tokenizer.ggml.scores", "none").ids("ab"), [2]);
}

#[test]
fn what_a_file_with_scores_need_not_say() {
    File::spm(&[]).read(|tokenizer| {
        let tokenizer = tokenizer.expect("a tokenizer");
        assert_eq!((tokenizer.bos(), tokenizer.eos()), (Some(1), Some(2)));
        assert!(tokenizer.is_end_of_generation(2));
        assert_eq!(tokenizer.encode("a", Special::Parse).unwrap(), [1, 4]);
    });
    assert_eq!(File::spm(&[]).put("tokenizer.ggml.add_space_prefix", false).ids("a"), [1, 3]);
    assert_eq!(File::spm(&[]).put("tokenizer.ggml.bos_token_id", 0_u32).ids("a"), [0, 4]);
    let error = File::spm(&[]).put("tokenizer.ggml.add_space_prefix", 1_u8).error();
    assert!(error.contains(r#""tokenizer.ggml.add_space_prefix""#), "{error}");

    // Where the usual ids are no tokens, there is no BOS that could be added.
    let one = || File::spm(&["tokens"]).put("tokenizer.ggml.tokens", ["a"]);
    assert_eq!(
        one().error(),
        r#"key "tokenizer.ggml.bos_token_id": not in the file or empty, and the tokenizer needs it"#
    );
    assert_eq!(one().put("tokenizer.ggml.add_bos_token", false).ids("aa"), [0, 0]);
}

#[test]
fn characters_without_a_token() {
    // No token is of the type, none is named: they are left out.
    assert_eq!(File::spm(&[]).ids("日a"), [1, 3]);
    assert_eq!(File::spm(&[]).put("tokenizer.ggml.unknown_token_id", 3_u32).ids("日a"), [1, 3, 3, 3]);
    assert_eq!(File::spm(&[]).put("tokenizer.ggml.token_type", [2_i32, 3, 3, 1, 1]).ids("日a"), [1, 0, 0, 3]);
    assert_eq!(
        File::spm(&[]).put("tokenizer.ggml.unknown_token_id", 5_u32).error(),
        r#"key "tokenizer.ggml.unknown_token_id": token id 5 is out of range, the vocabulary has 5 tokens"#
    );
}

/// Odd vocabularies that are legal all the same.
#[test]
fn tokens_without_text_and_bytes_without_digits() {
    let file = File::spm(&["tokens", "scores"])
        .put("tokenizer.ggml.tokens", ["", "", "<0x>", "<0xfg>", "<", "<0x61>", "", "<0x0é>"])
        .put("tokenizer.ggml.token_type", [2_i32, 3, 6, 6, 6, 6, 4, 6])
        .put("tokenizer.ggml.scores", [0.0_f32; 8])
        .put("tokenizer.ggml.add_space_prefix", false);
    file.read(|tokenizer| {
        let tokenizer = tokenizer.expect("a tokenizer");
        assert_eq!(tokenizer.encode("a<b", Special::Parse).unwrap(), [1, 5, 4, 0]);
        let bytes: Vec<_> = (0..8).map(|id| tokenizer.token_bytes(id).expect("in range")).collect();
        assert_eq!(bytes, [&b""[..], b"", b"", b"", b"", b"a", b"", b""]);
    });
}

/// Odd vocabularies that are legal all the same.
#[test]
fn tokens_without_text_and_merges_without_sides() {
    let file = File::new(&["tokens", "merges"])
        .put("tokenizer.ggml.tokens", ["", "a", "", "b", "<0x41>", "日"])
        .put("tokenizer.ggml.token_type", [3_i32, 1, 1, 99, 6, 1, 1, 1])
        .put("tokenizer.ggml.merges", ["", " ", "a", "a ", " a", "a b"]);
    file.read(|tokenizer| {
        let tokenizer = tokenizer.expect("a tokenizer");
        // `ab` is joined and is no token, so its ASCII characters are looked for; `é` has no tokens.
        assert_eq!(tokenizer.encode("abé", Special::Parse).unwrap(), [1, 3]);
        let bytes: Vec<_> = (0..6).map(|id| tokenizer.token_bytes(id).expect("in range")).collect();
        assert_eq!(bytes, [&b""[..], b"a", b"", b"", b"A", "日".as_bytes()]);
    });
}
