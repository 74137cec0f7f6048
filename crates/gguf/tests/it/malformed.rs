//! Damaged and hostile files: every class is answered with one line that names the part, the byte, what was
//! expected and what was found.

use std::fmt::Write as _;

use keepq_gguf::{Gguf, GgufError, Items};

use crate::hostile::classes;
use crate::raw::{Raw, tensor, value};
use crate::walk::walk;

#[test]
fn every_class_is_refused_with_one_line() {
    let mut lines = String::new();
    for class in classes() {
        writeln!(lines, "{}", class.name).unwrap();
        for (what, file) in class.files {
            let error = Gguf::parse(&file).expect_err(what).to_string();
            assert!(!error.chars().any(char::is_control), "{what}: {error}");
            writeln!(lines, "  {what}: {error}").unwrap();
        }
    }
    insta::assert_snapshot!(lines);
}

/// What a consumer asks for, and is told, of files that open.
#[test]
fn what_cannot_be_had_is_named_when_it_is_asked_for() {
    let file = Raw::header(4, 3)
        .key("split.count", value::STRING)
        .string(b"3")
        .array("tokenizer.ggml.tokens", value::U32, 2)
        .u32(1)
        .u32(2)
        .array("tokenizer.ggml.token_type", value::I32, 2)
        .u32(1)
        .u32(u32::MAX)
        .tensor("removed", &[32, 2], tensor::Q4_2, 0)
        .tensor("newer", &[7], 1000, 32)
        .tensor("stack", &[2, 2, 3], tensor::F32, 64)
        .tensor("no decoder", &[2], tensor::F64, 128)
        .data(32, 144);
    let gguf = Gguf::parse(&file.0).unwrap();
    walk(&gguf);

    let tensor = |name: &str| gguf.tensor(name).unwrap();
    let errors: Vec<GgufError> = vec![
        gguf.get::<u16>("split.count").unwrap_err(),
        gguf.require::<&str>("general.architecture").unwrap_err(),
        gguf.require::<Items<'_, &str>>("tokenizer.ggml.tokens").unwrap_err(),
        gguf.require::<Items<'_, u32>>("tokenizer.ggml.token_type").unwrap_err(),
        gguf.require::<f32>("tokenizer.ggml.tokens").unwrap_err(),
        gguf.require_tensor("output.weight").unwrap_err(),
        tensor("removed").data().unwrap_err(),
        tensor("removed").matrix().unwrap_err(),
        tensor("newer").data().unwrap_err(),
        tensor("newer").slice(0).unwrap_err(),
        tensor("stack").matrix().unwrap_err(),
        tensor("stack").slice(3).unwrap_err(),
        tensor("no decoder").matrix().unwrap_err(),
    ];
    let lines: Vec<String> = errors.iter().map(GgufError::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(tensor("no decoder").data().unwrap().len(), 16);
    assert_eq!((tensor("removed").byte_size(), tensor("removed").dims()), (None, [32, 2].as_slice()));
}
