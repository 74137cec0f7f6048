//! Tensors that are wrong: their names, shapes, types, and where they lie.

use super::raw::{Raw, tensor, value};
use super::{Class, class};

/// A file with one tensor and no data.
fn one_tensor(name: &str, dims: &[u64], ty: u32, offset: u64) -> Raw {
    Raw::header(1, 0).tensor(name, dims, ty, offset)
}

pub(super) fn shapes() -> [Class; 4] {
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

pub(super) fn data_and_names() -> [Class; 5] {
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
