//! [`WriteError`]: why a file was not written.

use std::io;
use std::path::PathBuf;

use core::fmt;

use crate::{ErrorKind, Subject, ValueType};

/// Why a key or a tensor was not accepted, or a file not written. One line of text.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// What a reader would refuse too: a name, a shape, an alignment.
    Refused {
        /// The key or the tensor.
        subject: Subject,
        /// What is wrong with it.
        kind: ErrorKind,
    },
    /// The key or the tensor was added before.
    Duplicate {
        /// The key or the tensor.
        subject: Subject,
    },
    /// `general.alignment` is no `u32`, which other readers insist on.
    AlignmentType {
        /// The type that was put.
        found: ValueType,
    },
    /// The data of a tensor have another length than its shape takes.
    DataLength {
        /// The tensor.
        tensor: Subject,
        /// Bytes that the shape takes.
        expected: u64,
        /// Bytes given; of a stream that gave too many, those up to the end of its last piece.
        found: u64,
    },
    /// The data of a tensor could not be made.
    Stream {
        /// The tensor.
        tensor: Subject,
        /// What its stream said.
        error: io::Error,
    },
    /// The output failed.
    Io(io::Error),
    /// A file could not be made, brought to the disk or put in its place.
    File {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { subject, kind } => write!(f, "{subject}: {kind}"),
            Self::Duplicate { subject } => write!(f, "{subject}: added before"),
            Self::AlignmentType { found } => write!(f, "key \"general.alignment\": expected u32, found {found}"),
            Self::DataLength { tensor, expected, found } => {
                write!(f, "{tensor}: expected {expected} bytes of data, got {found}")
            }
            Self::Stream { tensor, error } => write!(f, "{tensor}: {error}"),
            Self::Io(error) => error.fmt(f),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl core::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // The text holds the error itself.
            Self::Stream { error, .. } | Self::Io(error) | Self::File { error, .. } => error.source(),
            _ => None,
        }
    }
}
