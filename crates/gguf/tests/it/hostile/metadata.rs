//! Keys and values that are wrong.

use super::raw::{Raw, tensor, value};
use super::{Class, class};

/// A file with one key, whose value is still to come.
pub(super) fn one_key(ty: u32) -> Raw {
    Raw::header(0, 1).key("k", ty)
}

/// A file with `general.alignment` and one tensor of 64 bytes.
fn aligned(alignment: u32) -> Raw {
    Raw::header(1, 1)
        .key("general.alignment", value::U32)
        .u32(alignment)
        .tensor("t", &[16], tensor::F32, 0)
        .data(32, 64)
}

pub(super) fn values() -> [Class; 5] {
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
