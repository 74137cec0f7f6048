//! [`MadeSet`]: files of a folder that are a set, or are not.

use std::fs;

use arbitrary::Arbitrary;
use keepq_gguf::{Source, open_set};

use super::made::Made;
use crate::raw::Raw;
use crate::walk::walk;

/// Files, one of which is opened.
#[derive(Arbitrary, Debug)]
pub(crate) struct MadeSet<'b> {
    files: Vec<(FileName, FileContent<'b>)>,
    opened: u8,
    mapped: bool,
}

/// What a file is called: which one of how many.
#[derive(Arbitrary, Debug)]
struct FileName {
    number: u8,
    count: u8,
    /// Mostly none: another number than the name of a set has.
    odd: Option<u16>,
}

#[derive(Arbitrary, Debug)]
enum FileContent<'b> {
    /// As it should be, but for what is `None` or not in order.
    Shard {
        number: Option<u8>,
        count: Option<u8>,
        total: Option<u8>,
        tensors: Vec<u8>,
    },
    /// What its name says, of as many tensors as there are files.
    AsNamed {
        tensor: u8,
    },
    Any(Made<'b>),
    Bytes(&'b [u8]),
}

/// Files at most.
const FILES: usize = 5;

impl FileName {
    fn numbers(&self) -> (u8, u8) {
        (self.number % FILES as u8, 1 + self.count % FILES as u8)
    }

    fn text(&self) -> String {
        let (number, count) = self.numbers();
        match self.odd {
            Some(odd) if odd % 8 == 0 => format!("m-{odd:05}-of-{count:05}.gguf"),
            Some(odd) if odd % 8 == 1 => format!("m-{}-of-{count:05}.gguf", number + 1),
            _ => format!("m-{:05}-of-{count:05}.gguf", number + 1),
        }
    }
}

impl FileContent<'_> {
    fn bytes(&self, name: &FileName) -> Vec<u8> {
        let (number, count) = name.numbers();
        match self {
            Self::Shard { number, count, total, tensors } => shard(*number, *count, *total, tensors),
            Self::AsNamed { tensor } => shard(Some(number), Some(count), Some(count), &[*tensor]),
            Self::Any(made) => made.bytes(),
            Self::Bytes(bytes) => bytes.to_vec(),
        }
    }
}

/// A file with these keys and some small tensors.
fn shard(number: Option<u8>, count: Option<u8>, total: Option<u8>, tensors: &[u8]) -> Vec<u8> {
    let keys = [("split.no", number), ("split.count", count), ("split.tensors.count", total)];
    let there = || keys.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let mut file = Raw::header(tensors.len() as u64, there().count() as u64);
    for (key, value) in there() {
        file = file.key(key, 0).bytes(&[value]);
    }
    for (offset, tensor) in (0..).step_by(32).zip(tensors) {
        file = file.tensor(&format!("t{tensor}"), &[2], 0, offset);
    }
    file.data(32, 32 * tensors.len()).0
}

impl MadeSet<'_> {
    /// A set opens, or does not; nothing panics, and what opens has tensors in files that are there.
    pub(crate) fn check(&self) {
        let files = &self.files[..self.files.len().min(FILES)];
        let Some((opened, _)) = files.get(usize::from(self.opened) % FILES.min(files.len().max(1))) else { return };
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, content) in files {
            fs::write(folder.path().join(name.text()), content.bytes(name)).expect("a written file");
        }
        let path = folder.path().join(opened.text());
        let set = if self.mapped { open_set(&path, Source::map) } else { open_set(&path, Source::read) };
        let parsed = set.and_then(|set| {
            let gguf = set.parse()?;
            walk(&gguf);
            assert_eq!(gguf.shards(), set.sources().len());
            assert!(gguf.tensors().iter().all(|tensor| tensor.shard() < gguf.shards()));
            Ok(())
        });
        if let Err(error) = parsed {
            let text = error.to_string();
            assert!(error.path().starts_with(folder.path()) && !text.chars().any(char::is_control), "{text}");
        }
    }
}
