//! [`CheckpointError`].

use std::fmt;
use std::path::PathBuf;

use keepq_gguf::{OpenError, quoted};
use keepq_tinygemm::LayoutError;
use keepq_tinygemm::w4a16::PackedError;

/// Why a checkpoint was not opened, or weights not read, converted or made.
///
/// `Display` escapes and shortens what it quotes of a file: whatever that holds, an error is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A file cannot be opened.
    Open(OpenError),
    /// A file is no JSON, or no safetensors file.
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong, as the reader of the format says it.
        message: String,
    },
    /// There is neither `model.safetensors` nor an index of several files in the folder.
    NoModel {
        /// The folder.
        folder: PathBuf,
    },
    /// The index names a file that is not in the folder of the index.
    FileName {
        /// The index.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// The index says that a tensor is in a file that does not hold it, or a file holds one that the index does not know.
    Index {
        /// The tensor.
        tensor: String,
        /// The file.
        file: PathBuf,
    },
    /// A key of the configuration is missing or holds what cannot be followed.
    Key {
        /// The key.
        key: String,
        /// What it holds.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// There is no such tensor.
    MissingTensor {
        /// The tensor.
        tensor: String,
    },
    /// A tensor has elements of another type.
    Elements {
        /// The tensor.
        tensor: String,
        /// Its type.
        found: String,
        /// Those expected.
        expected: &'static str,
    },
    /// A tensor has another shape.
    Shape {
        /// The tensor.
        tensor: String,
        /// Its shape.
        found: Vec<usize>,
        /// That expected.
        expected: String,
    },
    /// A channel belongs to a group that is not there.
    GroupIndex {
        /// The tensor.
        tensor: String,
        /// The channel.
        channel: usize,
        /// Its group.
        found: i32,
        /// Groups there are.
        groups: usize,
    },
    /// Groups that channels belong to in any order have not all the same number of channels, and cannot be multiplied group by group.
    UnevenGroups {
        /// The tensor.
        tensor: String,
        /// The group.
        group: usize,
        /// Its channels.
        found: usize,
        /// Those of a group by the configuration.
        expected: usize,
    },
    /// A scale, an offset or a weight is infinite or NaN.
    NotFinite {
        /// The tensor.
        tensor: String,
        /// Its row.
        row: usize,
        /// Its column; for a scale or an offset the first of its group.
        column: usize,
    },
    /// Weights are too large for the scales of the format.
    ScaleOverflow {
        /// The tensor.
        tensor: String,
        /// Its row.
        row: usize,
        /// The first column of the group.
        column: usize,
    },
    /// Weights do not fit a packed layout.
    Layout {
        /// The tensor.
        tensor: String,
        /// Why.
        error: LayoutError,
    },
    /// Weights do not fit the layout of W4A16.
    Packed {
        /// The tensor.
        tensor: String,
        /// Why.
        error: PackedError,
    },
    /// Weights cannot be multiplied by that path.
    Path {
        /// The tensor.
        tensor: String,
        /// What they are.
        found: &'static str,
        /// What they cannot be.
        wanted: &'static str,
    },
    /// There is no memory for converted weights.
    NoMemory {
        /// The tensor.
        tensor: String,
        /// Bytes wanted.
        bytes: usize,
    },
}

/// What others say of a file, which may quote any of it: on one line, control characters escaped, shortened to 200 characters.
fn one_line(text: &str) -> String {
    const MAX: usize = 200;
    let mut line = String::new();
    for letter in text.chars().take(MAX) {
        match letter {
            '"' | '\'' | '\\' => line.push(letter),
            _ => line.extend(letter.escape_debug()),
        }
    }
    if text.chars().nth(MAX).is_some() {
        line.push('…');
    }
    line
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Malformed { file, message } => write!(f, "{}: {}", file.display(), one_line(message)),
            Self::NoModel { folder } => write!(
                f,
                "{}: neither model.safetensors nor model.safetensors.index.json is in this folder",
                folder.display()
            ),
            Self::FileName { file, name } => {
                write!(f, "{}: {} is no name of a file beside it", file.display(), quoted(name))
            }
            Self::Index { tensor, file } => {
                write!(f, "{}: the index and the file disagree about tensor {}", file.display(), quoted(tensor))
            }
            Self::Key { key, found, expected } => {
                write!(f, "key {key:?}: expected {expected}, found {}", one_line(found))
            }
            Self::MissingTensor { tensor } => write!(f, "tensor {} is missing", quoted(tensor)),
            Self::Elements { tensor, found, expected } => {
                write!(f, "tensor {}: expected elements of {expected}, found {found}", quoted(tensor))
            }
            Self::Shape { tensor, found, expected } => {
                write!(
                    f,
                    "tensor {}: expected shape {expected}, found {}",
                    quoted(tensor),
                    one_line(&format!("{found:?}"))
                )
            }
            Self::GroupIndex { tensor, channel, found, groups } => {
                write!(
                    f,
                    "tensor {}: channel {channel}: expected a group below {groups}, found {found}",
                    quoted(tensor)
                )
            }
            Self::UnevenGroups { tensor, group, found, expected } => {
                write!(f, "tensor {}: group {group}: expected {expected} channels, found {found}", quoted(tensor))
            }
            Self::NotFinite { tensor, row, column } => {
                write!(f, "tensor {}: row {row}, column {column}: not a finite number", quoted(tensor))
            }
            Self::ScaleOverflow { tensor, row, column } => {
                write!(
                    f,
                    "tensor {}: row {row}, column {column}: no scale of the format is large enough",
                    quoted(tensor)
                )
            }
            Self::Layout { tensor, error } => write!(f, "tensor {}: {error}", quoted(tensor)),
            Self::Packed { tensor, error } => write!(f, "tensor {}: {error}", quoted(tensor)),
            Self::Path { tensor, found, wanted } => {
                write!(f, "tensor {}: {found} cannot be multiplied as {wanted}", quoted(tensor))
            }
            Self::NoMemory { tensor, bytes } => {
                write!(f, "tensor {}: there is no memory for {bytes} bytes of converted weights", quoted(tensor))
            }
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<OpenError> for CheckpointError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}
