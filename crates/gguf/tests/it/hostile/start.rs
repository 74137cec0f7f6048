//! Files whose first bytes are wrong, and counts and lengths that no file has.

use super::metadata::one_key;
use super::raw::{Raw, value};
use super::{Class, class};

pub(super) fn start_of_file() -> [Class; 2] {
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

pub(super) fn counts_and_lengths() -> [Class; 3] {
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
