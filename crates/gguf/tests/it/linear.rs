//! Opening takes time by the bytes of the header, whatever they are.

use std::fs;

use keepq_gguf::Gguf;

use crate::raw::{Raw, tensor, value};

/// Entries of the smaller header, and how many times as many the larger one has.
const ENTRIES: u64 = 20_000;
const TIMES: u64 = 8;

/// Nanoseconds that this thread has run for, without those in which others had the processor.
fn time() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts");
    counts.split(' ').next().and_then(|run| run.parse().ok()).expect("a number")
}

/// The time of opening a file so often.
fn time_of(file: &[u8], often: u64) -> u64 {
    let start = time();
    for _ in 0..often {
        Gguf::parse(file).expect("a legal file");
    }
    time() - start
}

/// Eight times the entries take eight times as long, or some more where caches no longer hold them; comparing each with each would
/// take sixty-four times as long.
#[track_caller]
fn assert_linear(what: &str, file: impl Fn(u64) -> Raw) {
    let (small, large) = (file(ENTRIES).0, file(TIMES * ENTRIES).0);
    // As many entries in all.
    let (small, large) = (time_of(&small, 5 * TIMES), time_of(&large, 5));
    assert!(large < 3 * small, "{what}: {small} ns, then {large} ns");
}

#[test]
fn strings() {
    assert_linear("strings", |count| {
        // So many more make a time that can be measured.
        let count = 10 * count;
        let file = Raw::header(0, 1).array("tokenizer.ggml.tokens", value::STRING, count);
        (0..count).fold(file, |file, token| file.string(format!("token {token}").as_bytes()))
    });
}

#[test]
fn keys() {
    assert_linear("keys", |count| {
        (0..count).fold(Raw::header(0, count), |file, key| file.key(&format!("{key:x}"), value::U8).bytes(&[0]))
    });
}

#[test]
fn keys_of_one_start() {
    let start = "the.same.start.of.every.key.".repeat(8);
    assert_linear("keys of one start", |count| {
        (0..count).fold(Raw::header(0, count), |file, key| file.key(&format!("{start}{key:x}"), value::U8).bytes(&[0]))
    });
}

#[test]
fn tensors_in_the_reverse_order_of_their_data() {
    assert_linear("tensors", |count| {
        let file = (0..count).fold(Raw::header(count, 0), |file, number| {
            file.tensor(&format!("{number:x}"), &[1], tensor::F32, 32 * (count - 1 - number))
        });
        file.data(32, 32 * count as usize)
    });
}
