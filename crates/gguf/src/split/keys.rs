//! What the metadata say of a set.
//!
//! ```text
//! split.no             u16   the file's number, from 0
//! split.count          u16   files of the set
//! split.tensors.count  i32   tensors of all files together
//! ```
//!
//! All files have these three; everything else is in the first.

use super::name::ShardName;
use crate::metadata::Metadata;
use crate::{ErrorKind, Gguf, GgufError, Subject, Value};

const NUMBER: &str = "split.no";
const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// What tells models apart. A later file need not have these keys, and where it has them, it says the same as the first.
const IDENTITY: [&str; 3] = [TENSORS, "general.architecture", "general.name"];

/// Which of how many files one is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// From 0.
    pub(super) number: u16,
    /// 0 in what `gguf-split --merge` made of a set: as whole as a set of one.
    pub(super) count: u16,
}

impl Place {
    /// The place of a file; none where the metadata say nothing of a set.
    pub(super) fn read(metadata: &Metadata<'_>) -> Result<Option<Self>, GgufError> {
        let (number, count) = match (metadata.get(NUMBER)?, metadata.get(COUNT)?) {
            (None | Some(0), None) => return Ok(None),
            // A later file of a set, whatever is not said of the others.
            (Some(1..), None) => return Err(no_count()),
            (None, Some(2..)) => return Err(missing(NUMBER)),
            (number, Some(count)) => (number.unwrap_or(0), count),
        };
        Ok(Some(Self { number, count }))
    }

    /// Files that there are.
    pub(super) fn files(self) -> u16 {
        self.count.max(1)
    }

    /// Checks the place, against the name of the file where that is one of a set.
    pub(super) fn check(self, name: Option<&ShardName<'_>>, metadata: &Metadata<'_>) -> Result<(), GgufError> {
        let Self { number, count } = self;
        if let Some(name) = name
            && self.files() != name.count
        {
            return Err(metadata.error(COUNT, ErrorKind::NotAsNamed { found: count, named: name.count }));
        }
        if number >= self.files() {
            return Err(metadata.error(NUMBER, ErrorKind::ShardNumber { found: number, count: self.files() }));
        }
        match name.map(|name| name.number - 1) {
            Some(named) if number != named => {
                Err(metadata.error(NUMBER, ErrorKind::NotAsNamed { found: number, named }))
            }
            _ => Ok(()),
        }
    }

    /// The tensors of all files, as the first one says; it must where there are others.
    pub(super) fn total(self, first: &Metadata<'_>) -> Result<Option<u64>, GgufError> {
        match first.get(TENSORS)? {
            None if self.files() > 1 => Err(missing(TENSORS)),
            total => Ok(total),
        }
    }
}

/// Refuses a later file that is not of the model that the first one is of.
pub(super) fn check_identity(first: &Metadata<'_>, later: &Metadata<'_>) -> Result<(), GgufError> {
    for key in IDENTITY {
        let (Some(expected), Some(found)) = (first.value(key), later.value(key)) else { continue };
        if !same(expected, found) {
            let [found, expected] = [found, expected].map(|value| value.to_string().into());
            return Err(later.error(key, ErrorKind::NotAsFirst { found, expected }));
        }
    }
    Ok(())
}

/// Integers are the same whatever their width.
fn same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.integer(), b.integer()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Checks the number of tensors that the first file says against those that there are.
pub(super) fn check_total(found: u64, set: &Gguf<'_>) -> Result<(), GgufError> {
    let expected = set.tensors().len() as u64;
    if found == expected {
        Ok(())
    } else {
        Err(set.entries().error(TENSORS, ErrorKind::TensorCount { found, expected }))
    }
}

/// That a file of a set does not say that it is one.
pub(super) fn no_count() -> GgufError {
    missing(COUNT)
}

fn missing(key: &str) -> GgufError {
    GgufError::missing(Subject::key(key))
}
