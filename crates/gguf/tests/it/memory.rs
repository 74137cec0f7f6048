//! What opening a file allocates, counted: little, and by what is read rather than by what the file claims.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use keepq_gguf::{ErrorKind, Gguf, Items, OpenErrorKind, Source, open_set};

use crate::raw::{Raw, tensor, value};

/// Counts what each thread allocates; tests run on threads of their own.
struct Counting;

#[derive(Clone, Copy, Default, Debug)]
struct Count {
    calls: usize,
    /// Bytes held now.
    held: usize,
    /// Bytes held at most.
    peak: usize,
}

thread_local! {
    static COUNT: Cell<Count> = const { Cell::new(Count { calls: 0, held: 0, peak: 0 }) };
    /// Larger blocks are not to be had.
    static LARGEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator as it is, or refused, as an allocator may; counting touches a `Cell` that
// needs neither allocation nor destruction.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST.get() {
            return ptr::null_mut();
        }
        count(layout.size(), 0);
        // SAFETY: the caller's promises are the ones asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
    // `realloc` is the default: a new block, a copy, the old block freed. It is counted at its worst.
}

fn count(more: usize, less: usize) {
    let mut count = COUNT.get();
    count.calls += usize::from(more > 0);
    // What another thread allocated may be freed here.
    count.held = (count.held + more).saturating_sub(less);
    count.peak = count.peak.max(count.held);
    COUNT.set(count);
}

/// Runs `body` and gives its result, the allocations and the bytes held at most meanwhile.
fn counted<T>(body: impl FnOnce() -> T) -> (T, usize, usize) {
    COUNT.set(Count::default());
    let result = body();
    let count = COUNT.get();
    (result, count.calls, count.peak)
}

#[test]
fn strings_are_not_allocated() {
    let count = 100_000_u64;
    let mut file = Raw::header(0, 1).array("tokenizer.ggml.tokens", value::STRING, count);
    for token in 0..count {
        file = file.string(format!("token {token}").as_bytes());
    }
    let ((gguf, tokens), calls, peak) = counted(|| {
        let gguf = Gguf::parse(&file.0).unwrap();
        let tokens: Items<'_, &str> = gguf.require("tokenizer.ggml.tokens").unwrap();
        (gguf, tokens)
    });
    assert_eq!(tokens.len(), 100_000);
    assert_eq!(tokens.last(), Some("token 99999"));
    assert_eq!(gguf.metadata().len(), 1);
    assert!(calls <= 4, "{calls} allocations");
    assert!(peak <= 1024, "{peak} bytes");
}

#[test]
fn a_million_keys_open_and_are_found() {
    let count = 1_000_000_u64;
    let mut file = Raw::header(0, count);
    for key in 0..count {
        // The shortest keys that differ: the worst ratio of index to file.
        file = file.key(&format!("{key:x}"), value::U8).bytes(&[key as u8]);
    }
    let (gguf, calls, peak) = counted(|| Gguf::parse(&file.0).unwrap());
    assert_eq!(gguf.metadata().len(), 1_000_000);
    for key in (0..count).step_by(997) {
        assert_eq!(gguf.require::<u8>(&format!("{key:x}")), Ok(key as u8));
    }
    assert!(calls <= 64, "{calls} allocations");
    assert!(peak <= 16 * file.0.len(), "{peak} bytes for a file of {}", file.0.len());
}

#[test]
fn a_million_tensors_open_and_are_found() {
    let count = 1_000_000_u64;
    let mut file = Raw::header(count, 0);
    for number in 0..count {
        // Backwards, so that the order of names, of data and of the file all differ.
        file = file.tensor(&format!("{number:x}"), &[1], tensor::F32, 32 * (count - 1 - number));
    }
    let file = file.data(32, 32 * 1_000_000).0;
    let (gguf, calls, peak) = counted(|| Gguf::parse(&file).unwrap());
    assert_eq!(gguf.tensors().len(), 1_000_000);
    for number in (0..count).step_by(997) {
        let tensor = gguf.require_tensor(&format!("{number:x}")).unwrap();
        assert_eq!(tensor.data().unwrap().len(), 4);
    }
    assert!(calls <= 64, "{calls} allocations");
    assert!(peak <= 8 * file.len(), "{peak} bytes for a file of {}", file.len());
}

#[test]
fn a_million_equal_keys_are_refused() {
    let count = 1_000_000_u64;
    let file = (0..count).fold(Raw::header(0, count), |file, _| file.key("k", value::U8).bytes(&[0]));
    let (error, _, peak) = counted(|| Gguf::parse(&file.0).unwrap_err());
    assert_eq!(error.to_string(), "key \"k\" at byte 38: the name was used before, at byte 24");
    assert!(peak <= 16 * file.0.len(), "{peak} bytes for a file of {}", file.0.len());
}

#[test]
fn counts_reserve_nothing() {
    // 16 MB of zeros could hold the counts claimed, and hold nothing: each file fails at its first entry.
    for (tensors, keys) in [(0, 1_000_000), (400_000, 0)] {
        let file = Raw::header(tensors, keys).data(1, 0).0;
        let file: Vec<u8> = file.into_iter().chain(std::iter::repeat_n(0, 16_000_000)).collect();
        let (error, _, peak) = counted(|| Gguf::parse(&file).unwrap_err());
        assert!(error.to_string().ends_with("the name is empty"), "{error}");
        assert!(peak <= 1024, "{peak} bytes");
    }
}

/// Runs `body` where blocks of more bytes than `largest` are not to be had.
fn with_blocks_up_to<T>(largest: usize, body: impl FnOnce() -> T) -> T {
    LARGEST.set(largest);
    let result = body();
    LARGEST.set(usize::MAX);
    result
}

/// Whatever block it is that cannot be had: an error, where a program would end otherwise.
#[test]
fn no_memory_for_an_index_is_an_error() {
    let count = 500_u64;
    let mut file = Raw::header(count, count);
    for key in 0..count {
        file = file.key(&format!("{key:x}"), value::U8).bytes(&[0]);
    }
    for number in 0..count {
        file = file.tensor(&format!("{number:x}"), &[1], tensor::F32, 32 * number);
    }
    let file = file.data(32, 32 * 500).0;
    let (mut refused, mut parsed) = (0, 0);
    // From blocks that hold next to nothing to those that hold all tensors.
    for largest in (512..100_000).step_by(512) {
        match with_blocks_up_to(largest, || Gguf::parse(&file).map(|gguf| gguf.tensors().len())) {
            Ok(tensors) => {
                assert_eq!(tensors, 500);
                parsed += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), &ErrorKind::OutOfMemory);
                refused += 1;
            }
        }
    }
    assert!(refused > 50 && parsed > 10, "{refused} refused, {parsed} parsed");
}

#[test]
fn no_memory_for_a_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    std::fs::write(&path, Raw::header(0, 0).data(1, 1 << 20).0).unwrap();
    let error = with_blocks_up_to(1 << 19, || Source::read(&path).map(drop)).unwrap_err();
    assert!(
        matches!(error.kind(), OpenErrorKind::Io(error) if error.kind() == std::io::ErrorKind::OutOfMemory),
        "{error}"
    );
    assert!(with_blocks_up_to(1 << 19, || Source::map(&path).and_then(|source| source.parse().map(drop))).is_ok());
}

#[test]
fn a_number_of_files_reserves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m-00001-of-65535.gguf");
    let file = Raw::header(0, 2).key("split.no", value::U32).u32(0).key("split.count", value::U32).u32(65535);
    std::fs::write(&path, file.0).unwrap();
    let (error, calls, peak) = counted(|| open_set(&path, Source::map).unwrap_err());
    assert!(error.to_string().ends_with("shard 2 of 65535 is missing, and 65533 more"), "{error}");
    assert!(calls <= 64, "{calls} allocations");
    assert!(peak <= 4096, "{peak} bytes");
}
