//! Why a model was not loaded, or a token not taken.

use std::fmt;

use keepq_blocks::GgmlType;
use keepq_checkpoint::CheckpointError;
use keepq_gemm::MatmulError;
use keepq_gguf::GgufError;
use keepq_tinygemm::select::SelectError;

/// Why a file is no model that this decoder runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelError {
    /// The file lacks a key or tensor, or holds another type than expected.
    Gguf(GgufError),
    /// A checkpoint lacks a tensor, or holds one that cannot be read or converted.
    Checkpoint(CheckpointError),
    /// No 4-bit path can be taken.
    Select(SelectError),
    /// Weights of a checkpoint are quantized, and no path was given.
    NoPath {
        /// The weights.
        tensor: String,
    },
    /// A key holds a value that no such model can have, or that is not supported.
    Key {
        /// The key.
        key: String,
        /// What it holds.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A tensor has another shape than the metadata call for.
    Shape {
        /// The tensor.
        tensor: String,
        /// Its rows and elements a row.
        found: (usize, usize),
        /// Those expected.
        expected: (usize, usize),
    },
    /// A tensor is a stack of more or fewer matrices than there are experts.
    Slices {
        /// The tensor.
        tensor: String,
        /// Its matrices.
        found: u64,
        /// Those expected.
        expected: usize,
    },
    /// A tensor's type cannot be used here.
    Unsupported {
        /// The tensor.
        tensor: String,
        /// Its type.
        ty: GgmlType,
        /// What was to be done with it.
        op: &'static str,
    },
    /// A copy of a tensor's weights needs memory that there is not.
    NoMemory {
        /// The tensor.
        tensor: String,
        /// Bytes of the copy.
        bytes: usize,
    },
    /// The file holds a tensor that this architecture, as implemented here, does not read: results would be wrong.
    Unused {
        /// The tensor.
        tensor: String,
    },
}

/// The start of what a file holds, as much as a line of text should show of it.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gguf(error) => error.fmt(f),
            Self::Checkpoint(error) => error.fmt(f),
            Self::Select(error) => error.fmt(f),
            Self::NoPath { tensor } => {
                write!(
                    f,
                    "tensor {tensor:?}: quantized weights of a checkpoint are multiplied by a 4-bit path, and none was given"
                )
            }
            Self::Key { key, found, expected } => write!(f, "key {key:?}: expected {expected}, found {found}"),
            Self::Shape { tensor, found, expected } => write!(
                f,
                "tensor {tensor:?}: expected {} rows of {} elements, found {} of {}",
                expected.0, expected.1, found.0, found.1
            ),
            Self::Slices { tensor, found, expected } => {
                write!(f, "tensor {tensor:?}: expected a stack of {expected}, one matrix an expert, found {found}")
            }
            Self::Unsupported { tensor, ty, op } => write!(f, "tensor {tensor:?}: {ty} does not support {op}"),
            Self::NoMemory { tensor, bytes } => {
                write!(f, "tensor {tensor:?}: there is no memory for a copy of {bytes} bytes")
            }
            Self::Unused { tensor } => {
                write!(
                    f,
                    "tensor {:?} has no place in this architecture as implemented: results would be wrong",
                    shown(tensor)
                )
            }
        }
    }
}

impl std::error::Error for ModelError {}

impl From<CheckpointError> for ModelError {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}

impl From<GgufError> for ModelError {
    fn from(error: GgufError) -> Self {
        Self::Gguf(error)
    }
}

/// Why tokens were not taken. The session is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// Keys and values of so many tokens cannot be reserved.
    NoMemory {
        /// Tokens asked for.
        capacity: usize,
    },
    /// There is nothing to compute logits from.
    NoTokens,
    /// The vocabulary has no such token.
    NoSuchToken {
        /// The token.
        id: u32,
        /// Tokens in the vocabulary.
        vocabulary: usize,
    },
    /// The cache holds no more positions.
    ContextFull {
        /// Positions that the cache holds.
        capacity: usize,
        /// Positions that the tokens would need.
        needed: usize,
    },
    /// All logits are NaN: the weights or the context hold numbers that are not finite.
    NotANumber,
    /// A multiplication was refused.
    Matmul(MatmulError),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory { capacity } => write!(f, "there is no memory for a context of {capacity} tokens"),
            Self::NoTokens => write!(f, "no tokens were given"),
            Self::NoSuchToken { id, vocabulary } => write!(f, "token {id} is not among the vocabulary's {vocabulary}"),
            Self::ContextFull { capacity, needed } => {
                write!(f, "the context holds {capacity} tokens, {needed} are needed")
            }
            Self::NotANumber => write!(f, "all logits are NaN: a weight or an activation is not finite"),
            Self::Matmul(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<MatmulError> for SessionError {
    fn from(error: MatmulError) -> Self {
        Self::Matmul(error)
    }
}
