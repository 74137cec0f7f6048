//! Damaged and hostile files: every class is answered with one line that names the part, the byte, what was
//! expected and what was found.

use std::fmt::Write as _;

use keepq_gguf::{Gguf, GgufError, Items};

use crate::raw::{Raw, tensor, value};
use crate::walk::walk;

/// A class of damage and the files that show it.
struct Class {
    name: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
}

fn class(name: &'static str, files: impl IntoIterator<Item = (&'static str, Raw)>) -> Class {
    Class { name, files: files.into_iter().map(|(what, file)| (what, file.0)).collect() }
}

/// A file with one key, whose value is still to come.
fn one_key(ty: u32) -> Raw {
    Raw::header(0, 1).key("k", ty)
}

/// A file with one tensor and no data.
fn one_tensor(name: &str, dims: &[u64], ty: u32, offset: u64) -> Raw {
    Raw::header(1, 0).tensor(name, dims, ty, offset)
}

/// A file with `general.alignment` and one tensor of 64 bytes.
fn aligned(alignment: u32) -> Raw {
    Raw::header(1, 1)
        .key("general.alignment", value::U32)
        .u32(alignment)
        .tensor("t", &[16], tensor::F32, 0)
        .data(32, 64)
}

fn start_of_file() -> [Class; 2] {
    [
        class(
            "short",
            [
                ("empty", Raw(Vec::new())),
                ("two bytes", Raw(b"GG".to_vec())),
                ("23 bytes", Raw(Raw::header(0, 0).0[..23].to_vec())),
            ],
        ),
        class(
            "magic and version",
            [
                ("other bytes", Raw(vec![0; 64])),
                ("escaped", Raw(b"\x1b[2J\n\"\xff".to_vec())),
                ("LFS pointer", Raw(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec())),
                ("web page", Raw(b"<!DOCTYPE html>".to_vec())),
                ("ZIP archive", Raw(b"PK\x03\x04".to_vec())),
                ("before GGUF", Raw(b"tjgg\x03\0\0\0".to_vec())),
                ("swapped magic", Raw(b"FUGG\x03\0\0\0".to_vec())),
                ("swapped version", Raw::version(3_u32.swap_bytes(), 0, 0)),
                ("version 0", Raw::version(0, 0, 0)),
                ("version 1", Raw::version(1, 0, 0)),
                ("version 4", Raw::version(4, 0, 0)),
            ],
        ),
    ]
}

fn counts_and_lengths() -> [Class; 3] {
    [
        class(
            "counts",
            [
                ("2^63 tensors", Raw::header(1 << 63, 0)),
                ("2^64 - 1 keys", Raw::header(0, u64::MAX)),
                ("5e8 keys in 24 bytes", Raw::header(0, 500_000_000)),
                ("5e8 tensors in 24 bytes", Raw::header(500_000_000, 0)),
                ("one key too many", Raw::header(0, 2).key("k", value::U8).bytes(&[1]).data(1, 14)),
            ],
        ),
        class(
            "string length",
            [
                ("key beyond the file", Raw::header(0, 1).u64(1000).data(1, 16)),
                ("key of 2^64 - 1", Raw::header(0, 1).u64(u64::MAX).data(1, 16)),
                ("value beyond the file", one_key(value::STRING).u64(9).bytes(b"12345678")),
                ("value of 2^64 - 1", one_key(value::STRING).u64(u64::MAX)),
                ("length cut off", one_key(value::STRING).bytes(&[1, 0, 0])),
                ("tensor name of 2^64 - 1", Raw::header(1, 0).u64(u64::MAX).data(1, 32)),
            ],
        ),
        class(
            "array count",
            [
                ("beyond the file", Raw::header(0, 1).array("k", value::U32, 3).data(1, 11)),
                ("count * size wraps", Raw::header(0, 1).array("k", value::U64, 1 << 61)),
                ("2^64 - 1 bytes", Raw::header(0, 1).array("k", value::U8, u64::MAX)),
                ("2^63 strings", Raw::header(0, 1).array("k", value::STRING, 1 << 63)),
                (
                    "second string beyond the file",
                    Raw::header(0, 1).array("k", value::STRING, 2).string(b"fine").u64(100).data(1, 8),
                ),
            ],
        ),
    ]
}

fn values() -> [Class; 5] {
    let nested = |depth| (0..depth).fold(one_key(value::ARRAY), |file, _| file.u32(value::ARRAY).u64(1));
    [
        class("nested arrays", [("two deep", nested(1).u32(value::U8).u64(0)), ("100,000 deep", nested(100_000))]),
        class(
            "value types",
            [
                ("13", one_key(13).u64(0)),
                ("2^32 - 1", one_key(u32::MAX).u64(0)),
                ("of elements", Raw::header(0, 1).array("k", 13, 0)),
                ("value cut off", one_key(value::F32).bytes(&[0, 0])),
            ],
        ),
        class(
            "booleans and text",
            [
                ("boolean 2", one_key(value::BOOL).bytes(&[2])),
                ("boolean 255 in an array", Raw::header(0, 1).array("k", value::BOOL, 3).bytes(&[0, 1, 255])),
                ("key not UTF-8", Raw::header(0, 1).string(b"ab\xff").u32(value::U8).bytes(&[0])),
                ("value not UTF-8", one_key(value::STRING).string(b"caf\xe9")),
                ("element not UTF-8", Raw::header(0, 1).array("k", value::STRING, 2).string(b"").string(b"\xc3")),
                ("empty key", Raw::header(0, 1).key("", value::U32).u32(0)),
                ("NUL in a key", Raw::header(0, 1).key("a\0b", value::U8).bytes(&[0])),
            ],
        ),
        class(
            "duplicate key",
            [
                ("twice", Raw::header(0, 2).key("k", value::U8).bytes(&[1]).key("k", value::U32).u32(0)),
                ("hostile name", {
                    let key = "\n\u{202e}".repeat(1000);
                    Raw::header(0, 2).key(&key, value::U8).bytes(&[1]).key(&key, value::U8).bytes(&[1])
                }),
            ],
        ),
        class(
            "alignment",
            [
                ("0", aligned(0)),
                ("3", aligned(3)),
                ("2^31", aligned(1 << 31)),
                ("2^30, in a small file", aligned(1 << 30)),
                ("text", Raw::header(0, 1).key("general.alignment", value::STRING).string(b"32")),
                ("float", Raw::header(0, 1).key("general.alignment", value::F32).bytes(&32_f32.to_le_bytes())),
                ("negative", Raw::header(0, 1).key("general.alignment", value::I32).bytes(&(-32_i32).to_le_bytes())),
                ("of 64 bits", Raw::header(0, 1).key("general.alignment", value::U64).u64(1 << 32)),
            ],
        ),
    ]
}

fn shapes() -> [Class; 4] {
    [
        class(
            "dimension count",
            [
                ("0", one_tensor("t", &[], tensor::F32, 0).data(32, 64)),
                ("5", one_tensor("t", &[1; 5], tensor::F32, 0).data(32, 64)),
                ("2^32 - 1", Raw::header(1, 0).string(b"t").u32(u32::MAX).data(32, 64)),
                ("cut off", Raw::header(1, 0).string(b"a name of 32 bytes, no less, ok?").bytes(&[1])),
            ],
        ),
        class(
            "dimensions",
            [
                ("0", one_tensor("t", &[4, 0], tensor::F32, 0).data(32, 64)),
                ("-1", one_tensor("t", &[u64::MAX], tensor::F32, 0).data(32, 64)),
            ],
        ),
        class(
            "size",
            [
                ("2^64 elements", one_tensor("t", &[1 << 32, 1 << 32], tensor::F32, 0)),
                ("2^64 elements of no known type", one_tensor("t", &[1 << 32, 1 << 32], 1000, 0)),
                ("2^63 elements", one_tensor("t", &[1 << 31, 1 << 31, 2], tensor::Q4_K, 0)),
                ("2^65 bytes", one_tensor("t", &[1 << 62], tensor::F64, 0)),
                ("2^63 bytes", one_tensor("t", &[1 << 61], tensor::F32, 0)),
                ("2^63 - 8 bytes", one_tensor("t", &[(1 << 60) - 1], tensor::F64, 0)),
            ],
        ),
        class(
            "ragged rows",
            [
                ("33 of Q8_0", one_tensor("t", &[33, 32], tensor::Q8_0, 0).data(32, 4096)),
                ("576 of Q4_K", one_tensor("t", &[576, 2], tensor::Q4_K, 0).data(32, 4096)),
            ],
        ),
    ]
}

fn data_and_names() -> [Class; 5] {
    let two = |names: [&str; 2], offset| {
        Raw::header(2, 0).tensor(names[0], &[16], tensor::F32, 0).tensor(names[1], &[16], tensor::F32, offset)
    };
    [
        class(
            "offset",
            [
                ("not aligned", one_tensor("t", &[16], tensor::F32, 4).data(32, 128)),
                ("offset + size wraps", one_tensor("t", &[16], tensor::F32, 0u64.wrapping_sub(32))),
                ("offset + size negative", one_tensor("t", &[16], tensor::F32, (1 << 63) - 64)),
                ("section + offset negative", one_tensor("t", &[8], tensor::F32, (1 << 63) - 64)),
            ],
        ),
        class(
            "truncated",
            [
                ("no data", one_tensor("t", &[16], tensor::F32, 0)),
                ("last byte", one_tensor("t", &[16], tensor::F32, 0).data(32, 63)),
                ("second of two", two(["a", "b"], 64).data(32, 127)),
                ("section beyond the end", one_tensor("t", &[1], tensor::F32, 0)),
                ("type unknown, offset beyond the end", one_tensor("t", &[16], 1000, 64).data(32, 64)),
            ],
        ),
        class(
            "overlap",
            [
                ("the same bytes", two(["a", "b"], 0).data(32, 128)),
                ("half", two(["a", "b"], 32).data(32, 128)),
                (
                    "a byte",
                    Raw::header(2, 1)
                        .key("general.alignment", value::U32)
                        .u32(1)
                        .tensor("a", &[16], tensor::F32, 0)
                        .tensor("b", &[16], tensor::F32, 63)
                        .data(1, 127),
                ),
                (
                    "type unknown, inside of another",
                    Raw::header(2, 0)
                        .tensor("unknown", &[1], 1000, 32)
                        .tensor("known", &[16], tensor::F32, 0)
                        .data(32, 128),
                ),
            ],
        ),
        class("duplicate tensor", [("twice", two(["t", "t"], 64).data(32, 128))]),
        class(
            "tensor names",
            [
                ("empty", one_tensor("", &[16], tensor::F32, 0).data(32, 64)),
                ("64 bytes", one_tensor(&"n".repeat(64), &[16], tensor::F32, 0).data(32, 64)),
                ("not UTF-8", Raw::header(1, 0).string(b"t\xc0\xaf").u32(1).u64(16).u32(0).u64(0).data(32, 64)),
                ("NUL inside", one_tensor("a\0b", &[16], tensor::F32, 0).data(32, 64)),
            ],
        ),
    ]
}

#[test]
fn every_class_is_refused_with_one_line() {
    let classes =
        start_of_file().into_iter().chain(counts_and_lengths()).chain(values()).chain(shapes()).chain(data_and_names());
    let mut lines = String::new();
    for class in classes {
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
