//! Why activations were not accepted.

use core::fmt;

use crate::ActFormat;

/// Why activations were not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActError {
    /// `k` is no multiple of the format's block.
    RaggedRow {
        /// The format.
        format: ActFormat,
        /// Elements of a row.
        k: usize,
    },
    /// The elements or blocks given are not exactly `m` rows.
    WrongLength {
        /// Rows.
        m: usize,
        /// Elements of a row.
        k: usize,
        /// Elements (or blocks) that `m` rows have.
        expected: usize,
        /// Elements (or blocks) given.
        found: usize,
    },
    /// `m * k` cannot be addressed.
    TooLarge {
        /// Rows.
        m: usize,
        /// Elements of a row.
        k: usize,
    },
    /// A block given as bytes holds the code -128, which no quantizer writes and no kernel's bounds allow for.
    CodeOutOfRange {
        /// The index of the block.
        block: usize,
    },
}

impl fmt::Display for ActError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RaggedRow { format, k } => {
                write!(
                    f,
                    "activations of {k} elements are no whole number of {format} blocks of {}",
                    format.block_len()
                )
            }
            Self::WrongLength { m, k, expected, found } => {
                write!(f, "activations of {m} rows of {k} elements take {expected}, found {found}")
            }
            Self::TooLarge { m, k } => write!(f, "activations of {m} rows of {k} elements cannot be addressed"),
            Self::CodeOutOfRange { block } => write!(f, "activation block {block} holds the code -128"),
        }
    }
}

impl core::error::Error for ActError {}
