//! [`Source`]: the bytes of a file, mapped or read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use core::fmt;
use core::ops::Range;

use memmap2::Mmap;

use crate::map::{map_file, release};
use crate::split::Suffix;
use crate::{Gguf, GgufError};

/// Owns the bytes of a file; a [`Gguf`] borrows from it.
///
/// ```no_run
/// use keepq_gguf::Source;
///
/// let source = Source::map("model.gguf")?;
/// let gguf = source.parse()?; // errors name the path
/// println!("{} tensors", gguf.tensors().len());
/// # Ok::<(), keepq_gguf::OpenError>(())
/// ```
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Source {
    /// Maps a file: opening costs no time and no memory, and pages are read as they are used.
    ///
    /// # Contract
    /// **While the source lives, the file must neither shrink nor change.** A page that is cut off the end
    /// ends the process with a signal (`SIGBUS`) when it is touched, and text that was checked may change
    /// under its reader. Models on local disks are replaced by renaming a new file over the old name, which
    /// is fine: the map keeps the old file. For storage that others write to, use [`read`](Self::read).
    ///
    /// # Errors
    /// [`OpenError`], naming the path, where it is no regular file (a directory, a pipe) or cannot be opened.
    pub fn map(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let (file, len) = open_regular(path)?;
        // A map of no bytes is an error of the system's; the parser has a better text for it.
        let bytes = if len == 0 {
            Bytes::Owned(Vec::new())
        } else {
            Bytes::Mapped(map_file(&file).map_err(|error| OpenError::io(path, error))?)
        };
        Ok(Self { path: path.into(), bytes })
    }

    /// Reads a file into memory: for storage that is not trusted to stay as it is.
    ///
    /// Takes the bytes that the file has, and no more even where it grows meanwhile.
    ///
    /// # Errors
    /// As [`map`](Self::map), and where memory for the file is not to be had.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let (file, len) = open_regular(path)?;
        let bytes = read_file(file, len).map_err(|error| OpenError::io(path, error))?;
        Ok(Self { path: path.into(), bytes: Bytes::Owned(bytes) })
    }

    /// The path that was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// Gives the memory of some bytes of a map back to the system, pages that they share with others included: for weights that are
    /// used no more, such as those that were copied to another layout. They may be used all the same, now or later; their pages are
    /// then read again.
    ///
    /// Does nothing where there is nothing to give back: to a source that was [`read`](Self::read), and on other systems than Linux.
    pub fn release(&self, bytes: Range<u64>) {
        if let Bytes::Mapped(map) = &self.bytes {
            let address = |byte: u64| usize::try_from(byte).map_or(map.len(), |byte| byte.min(map.len()));
            let (start, end) = (address(bytes.start), address(bytes.end));
            if start < end {
                release(map, start, end - start);
            }
        }
    }

    /// [`Gguf::parse`] with the path in its error.
    ///
    /// # Errors
    /// [`OpenError`] around the [`GgufError`].
    pub fn parse(&self) -> Result<Gguf<'_>, OpenError> {
        Gguf::parse(self.as_bytes()).map_err(|error| self.error(error))
    }

    /// An error about the bytes, with the path.
    pub(crate) fn error(&self, error: GgufError) -> OpenError {
        OpenError::new(self.path.clone(), OpenErrorKind::Parse(error))
    }
}

/// Opens a regular file and gives its length. The kind is asked for before opening, since opening a pipe
/// waits for its writer, and again after, since the path may have changed.
fn open_regular(path: &Path) -> Result<(File, u64), OpenError> {
    let regular = |metadata: io::Result<fs::Metadata>| match metadata {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(metadata) => Err(OpenError::new(path.into(), OpenErrorKind::NotRegular { directory: metadata.is_dir() })),
        Err(error) => Err(OpenError::io(path, error)),
    };
    regular(fs::metadata(path))?;
    let file = File::open(path).map_err(|error| OpenError::io(path, error))?;
    let len = regular(file.metadata())?.len();
    Ok((file, len))
}

fn read_file(file: File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The size that the file system reports, not a number in the file.
    let reserve = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(reserve).map_err(|_| io::ErrorKind::OutOfMemory)?;
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file was not opened. The text begins with the path.
#[derive(Debug)]
pub struct OpenError {
    path: PathBuf,
    kind: OpenErrorKind,
}

/// The reason in an [`OpenError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// No regular file.
    NotRegular {
        /// Whether it is a directory; otherwise it is a pipe, a socket or a device.
        directory: bool,
    },
    /// The system refused.
    Io(io::Error),
    /// The bytes are no GGUF file, or not the one of its set that they should be.
    Parse(GgufError),
    /// The file is one of several, and the others cannot be found: its name does not end as it must,
    /// `-00002-of-00003.gguf`, or is not UTF-8.
    ShardName {
        /// Which one it is by its metadata, from 1.
        number: u16,
        /// Files of the set.
        count: u16,
    },
    /// A file of the set, the one with this path, is not beside the one that was opened.
    MissingShard {
        /// Which one it is, from 1.
        number: u16,
        /// Files of the set.
        count: u16,
        /// Files that are missing, this one among them; none where the folder cannot be listed.
        missing: Option<u16>,
    },
}

impl OpenError {
    pub(crate) fn new(path: PathBuf, kind: OpenErrorKind) -> Self {
        Self { path, kind }
    }

    fn io(path: &Path, error: io::Error) -> Self {
        Self::new(path.into(), OpenErrorKind::Io(error))
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The reason.
    #[must_use]
    pub fn kind(&self) -> &OpenErrorKind {
        &self.kind
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.kind {
            OpenErrorKind::NotRegular { directory: true } => f.write_str("a directory, expected a file"),
            OpenErrorKind::NotRegular { directory: false } => {
                f.write_str("a pipe, socket or device, expected a regular file")
            }
            OpenErrorKind::Io(error) => error.fmt(f),
            OpenErrorKind::Parse(error) => error.fmt(f),
            &OpenErrorKind::ShardName { number, count } => {
                write!(f, "shard {number} of {count}, expected a name that ends in {}", Suffix { number, count })
            }
            OpenErrorKind::MissingShard { number, count, missing } => {
                write!(f, "shard {number} of {count} is missing")?;
                match missing {
                    None | Some(1) => Ok(()),
                    Some(missing) => write!(f, ", and {} more", missing - 1),
                }
            }
        }
    }
}

impl core::error::Error for OpenError {
    /// What is behind the reason, which the text holds already.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.kind {
            OpenErrorKind::NotRegular { .. } | OpenErrorKind::ShardName { .. } | OpenErrorKind::MissingShard { .. } => {
                None
            }
            OpenErrorKind::Io(error) => error.source(),
            OpenErrorKind::Parse(error) => error.source(),
        }
    }
}
