//! The fixed part of a file: magic, version, counts.

use crate::cursor::{Cursor, Fault};
use crate::metadata::LEAST_ENTRY_BYTES;
use crate::tensor::LEAST_TENSOR_BYTES;
use crate::{ErrorKind, GgufError, Subject};

/// The first bytes of every file.
pub(crate) const MAGIC: [u8; 4] = *b"GGUF";

/// Bytes of the fixed part.
const HEADER_BYTES: u64 = 24;

/// What the fixed part says.
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) tensors: u64,
    pub(crate) keys: u64,
}

impl Header {
    /// Reads and checks the fixed part.
    ///
    /// ```text
    /// | "GGUF" | version u32 | tensors u64 | keys u64 |
    /// ```
    pub(crate) fn read(cursor: &mut Cursor<'_>, file: &[u8]) -> Result<Self, GgufError> {
        Self::read_fields(cursor, file).map_err(|fault| fault.of(Subject::Header))
    }

    fn read_fields(cursor: &mut Cursor<'_>, file: &[u8]) -> Result<Self, Fault> {
        // What is another kind of file is told apart before one that is too short.
        if !file.iter().zip(&MAGIC).all(|(found, expected)| found == expected) {
            return Err(Fault { at: 0, kind: not_gguf(file) });
        }
        if cursor.left() < HEADER_BYTES {
            return Err(Fault {
                at: 0,
                kind: ErrorKind::PastEnd { what: "header", needed: HEADER_BYTES, left: cursor.left() },
            });
        }
        cursor.take("magic", MAGIC.len() as u64)?;

        let at = cursor.at();
        let version = cursor.u32("version")?;
        match version {
            2 | 3 => {}
            // No version has more than 16 bits, and 0 is none.
            _ if version != 0 && version & 0xffff == 0 => return Err(Fault { at, kind: ErrorKind::BigEndian }),
            found => return Err(Fault { at, kind: ErrorKind::Version { found } }),
        }

        let tensors_at = cursor.at();
        let tensors = cursor.u64("tensor count")?;
        let keys_at = cursor.at();
        let keys = cursor.u64("key count")?;
        cursor.hold(tensors_at, "tensors", tensors, LEAST_TENSOR_BYTES)?;
        cursor.hold(keys_at, "keys", keys, LEAST_ENTRY_BYTES)?;
        Ok(Self { version, tensors, keys })
    }
}

/// Shows what stands in place of the magic, and says what is often found there.
fn not_gguf(file: &[u8]) -> ErrorKind {
    const SHOWN: usize = 24;
    const HINTS: [(&[u8], &str); 6] = [
        (b"version https://git-lfs", "a Git LFS pointer: fetch the file itself with `git lfs pull`"),
        (b"<", "a web page: the download was refused or redirected"),
        (b"PK\x03\x04", "a ZIP archive, perhaps a PyTorch checkpoint: convert it to GGUF"),
        (b"lmgg", "a file of ggml before GGUF: convert it to GGUF"),
        (b"fmgg", "a file of ggml before GGUF: convert it to GGUF"),
        (b"tjgg", "a file of ggml before GGUF: convert it to GGUF"),
    ];

    if file.starts_with(b"FUGG") {
        return ErrorKind::BigEndian;
    }
    let hint = HINTS.iter().find(|(start, _)| file.starts_with(start)).map_or("", |&(_, hint)| hint);
    let start = file[..file.len().min(SHOWN)].escape_ascii().to_string();
    ErrorKind::NotGguf { start: format!("\"{start}\""), hint }
}
