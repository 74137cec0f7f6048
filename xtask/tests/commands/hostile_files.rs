//! Files that are none, are damaged, or are no model that runs here: one line that names the file and what is wrong with it.

use std::fs;
use std::path::Path;

use keepq_gguf::{GgmlType, Value};

use crate::support::{Changes, changed, refusal, synthetic, temporary_folder, xtask};

/// The commands that read a file, with it.
fn readers(file: &Path) -> [Vec<String>; 4] {
    let file = file.to_str().expect("text");
    [
        &["inspect", file][..],
        &["generate", "--prompt=a", "--model", file],
        &["tokens", "--model", file],
        &["bench", "--reps=1", "--model", file],
    ]
    .map(|arguments| arguments.iter().copied().map(str::to_owned).collect())
}

/// All of these commands refuse the file, and name it and `wanted`.
#[track_caller]
fn refused(commands: &[Vec<String>], file: &Path, wanted: &str) {
    for arguments in commands {
        let line = refusal(&mut xtask(arguments));
        assert!(line.contains(&*file.to_string_lossy()) && line.contains(wanted), "{}: {line}", arguments[0]);
    }
}

#[test]
fn what_is_no_gguf_file() {
    let dir = temporary_folder();
    let missing = dir.path().join("missing.gguf");
    refused(&readers(&missing), &missing, "No such file");
    refused(&readers(dir.path()), dir.path(), "directory");

    let file = dir.path().join("model.gguf");
    for (bytes, wanted) in [(&b""[..], "byte 0"), (b"GGU", "byte 0"), (b"PK\x03\x04 a zip file of some kind", "GGUF")] {
        fs::write(&file, bytes).expect("a written file");
        refused(&readers(&file), &file, wanted);
    }
}

#[test]
fn a_truncated_file() {
    let dir = temporary_folder();
    let file = dir.path().join("model.gguf");
    let whole = fs::read(synthetic()).expect("a model");
    for (bytes, wanted) in [(20, "byte"), (300, "byte"), (8000, "tensor"), (whole.len() - 100_000, "tensor \"")] {
        fs::write(&file, &whole[..bytes]).expect("a written file");
        refused(&readers(&file), &file, wanted);
    }
}

#[test]
fn numbers_that_the_file_cannot_hold() {
    let dir = temporary_folder();
    let file = dir.path().join("model.gguf");
    let whole = fs::read(synthetic()).expect("a model");
    // The counts of tensors and keys, and the length of the first key.
    for at in [8, 16, 24] {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
        fs::write(&file, &bytes).expect("a written file");
        refused(&readers(&file), &file, "1152921504606846976");
    }
}

#[test]
fn a_model_that_does_not_run_here() {
    let dir = temporary_folder();
    let file = dir.path().join("model.gguf");
    let [_, generate, _, bench] = readers(&file);
    let commands = [generate, bench];
    for (changes, wanted) in [
        (keys(&[("general.architecture", Value::String("bert"))]), "\"general.architecture\": expected"),
        (keys(&[("llama.block_count", Value::String("five"))]), "\"llama.block_count\""),
        (keys(&[("llama.block_count", Value::U32(0))]), "\"llama.block_count\": expected 1 to 16777216, found 0"),
        (keys(&[("llama.attention.head_count_kv", Value::U32(4))]), "\"llama.attention.head_count_kv\""),
        (keys(&[("tokenizer.ggml.model", Value::String("unigram"))]), "tokenizer \"unigram\" is not supported"),
        (keys(&[("tokenizer.ggml.eos_token_id", Value::U32(320))]), "\"tokenizer.ggml.eos_token_id\""),
        (Changes { without: Some("blk.2.ffn_up.weight"), ..Changes::default() }, "tensor \"blk.2.ffn_up.weight\""),
        (
            tensor("blk.1.attn_q.weight", GgmlType::Q8_0, [512, 128]),
            "tensor \"blk.1.attn_q.weight\": expected 288 rows of 512 elements, found 128 of 512",
        ),
        (tensor("blk.0.ffn_up.weight", GgmlType::IQ2_S, [512, 416]), "tensor \"blk.0.ffn_up.weight\""),
    ] {
        changed(&file, &changes);
        refused(&commands, &file, wanted);
    }
}

fn keys<'c>(keys: &'c [(&'c str, Value<'c>)]) -> Changes<'c> {
    Changes { keys, ..Changes::default() }
}

fn tensor(name: &str, ty: GgmlType, dims: [u64; 2]) -> Changes<'_> {
    Changes { tensor: Some((name, ty, dims)), ..Changes::default() }
}
