//! [`GgufError`]: what is wrong with a file, where, and in which key or tensor.

use core::fmt;

use keepq_blocks::{GgmlType, MatrixError, TypeIdError};

use crate::{Mismatch, ValueType};

/// What is wrong with a GGUF file: the part of it, the byte offset, and the fault. One line of text.
///
/// ```
/// use keepq_gguf::{ErrorKind, Gguf};
///
/// let error = Gguf::parse(b"<!DOCTYPE html><title>401</title>").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::NotGguf { .. }));
/// assert_eq!(
///     error.to_string(),
///     r#"header at byte 0: not GGUF, it starts with "<!DOCTYPE html><title>40" (a web page: the download was refused or redirected)"#
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GgufError {
    subject: Subject,
    at: Option<At>,
    kind: ErrorKind,
}

/// Where a fault lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    byte: u64,
    /// The file, where it is known to be one of several.
    shard: Option<u16>,
}

impl GgufError {
    pub(crate) fn new(subject: Subject, at: u64, kind: ErrorKind) -> Self {
        Self { subject, at: Some(At { byte: at, shard: None }), kind }
    }

    /// The same in a file of a set.
    pub(crate) fn in_shard(self, shard: Option<u16>) -> Self {
        Self { at: self.at.map(|at| At { shard, ..at }), ..self }
    }

    /// That there was no memory for what was read up to a byte.
    pub(crate) fn out_of_memory(at: u64) -> Self {
        Self::new(Subject::Header, at, ErrorKind::OutOfMemory)
    }

    /// For what is not in the file, and so is nowhere.
    pub(crate) fn missing(subject: Subject) -> Self {
        Self { subject, at: None, kind: ErrorKind::Missing }
    }

    /// The part of the file that is at fault.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The byte, from the start of the file, where the fault lies; none for what is missing.
    #[must_use]
    pub fn at(&self) -> Option<u64> {
        self.at.map(|at| at.byte)
    }

    /// The file, as an index of [`SourceSet::sources`](crate::SourceSet::sources), where the fault lies in a tensor of a
    /// set of several. The text counts from 1, as the names of the files do.
    #[must_use]
    pub fn shard(&self) -> Option<usize> {
        self.at?.shard.map(usize::from)
    }

    /// The fault.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl fmt::Display for GgufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.subject.fmt(f)?;
        if let Some(At { byte, shard }) = self.at {
            write!(f, " at byte {byte}")?;
            if let Some(shard) = shard {
                write!(f, " of shard {}", u32::from(shard) + 1)?;
            }
        }
        write!(f, ": {}", self.kind)
    }
}

impl core::error::Error for GgufError {
    /// What is behind the fault, which the text holds already.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Type(error) => error.source(),
            ErrorKind::Matrix(error) => error.source(),
            _ => None,
        }
    }
}

/// The part of a file that an error is about.
///
/// `Display` quotes and escapes names and shortens those of more than 80 characters: whatever a file holds, an error
/// is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Magic, version and counts.
    Header,
    /// The metadata entry with this key.
    Key(String),
    /// A metadata entry whose key could not be read, counted from 0.
    KeyNumber(u64),
    /// The tensor with this name.
    Tensor(String),
    /// A tensor whose name could not be read, counted from 0.
    TensorNumber(u64),
}

impl Subject {
    pub(crate) fn key(key: &str) -> Self {
        Self::Key(key.into())
    }

    pub(crate) fn tensor(name: &str) -> Self {
        Self::Tensor(name.into())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::Key(key) => write!(f, "key {}", quoted(key)),
            Self::KeyNumber(number) => write!(f, "key number {number}"),
            Self::Tensor(name) => write!(f, "tensor {}", quoted(name)),
            Self::TensorNumber(number) => write!(f, "tensor number {number}"),
        }
    }
}

/// `text` in quotes on one line, control characters escaped, shortened to 80 characters: as errors show what a file says.
///
/// ```
/// assert_eq!(keepq_gguf::quoted("a\nb"), r#""a\nb""#);
/// ```
#[must_use]
pub fn quoted(text: &str) -> String {
    const MAX: usize = 80;
    match text.char_indices().nth(MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}… ({} bytes)", &text[..end], text.len()),
    }
}

/// The fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file does not begin with `GGUF`.
    NotGguf {
        /// Its first bytes, escaped.
        start: String,
        /// What it may be instead; empty where that is anyone's guess.
        hint: &'static str,
    },
    /// A file for big-endian machines: magic or version have their bytes swapped.
    BigEndian,
    /// A version of the format that is not read here.
    Version {
        /// The version.
        found: u32,
    },
    /// A field runs past the end of the file.
    PastEnd {
        /// The field.
        what: &'static str,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are left from its start.
        left: u64,
    },
    /// A count of things that the rest of the file cannot hold.
    TooMany {
        /// The things counted.
        what: &'static str,
        /// How many.
        count: u64,
        /// Bytes that are left after the count.
        left: u64,
    },
    /// There is no memory for the index of the keys, or of the tensors.
    OutOfMemory,
    /// Text that is not UTF-8.
    NotUtf8,
    /// A key or a name of no bytes.
    EmptyName,
    /// A key or a name with a NUL inside.
    NulInName,
    /// A name that is too long.
    LongName {
        /// Bytes of the name.
        len: usize,
        /// Bytes of the longest legal one: 63 for tensors.
        max: usize,
    },
    /// The key or the tensor is there twice.
    Duplicate {
        /// Where the first one lies.
        first: u64,
    },
    /// A value type, or an element type of an array, that the format does not have.
    ValueType {
        /// The type id.
        id: u32,
    },
    /// An array of arrays.
    NestedArray,
    /// A boolean that is neither 0 nor 1.
    Bool {
        /// The byte.
        found: u8,
    },
    /// A value of another type than the one asked for.
    WrongType(Mismatch),
    /// `general.alignment` is no power of two, or is above 2^30.
    Alignment {
        /// The value.
        found: u32,
    },
    /// A tensor with no dimension, or more than four.
    DimensionCount {
        /// Dimensions.
        found: u64,
    },
    /// A dimension that is zero, or negative as a signed number.
    Dimension {
        /// The dimension, counted from 0.
        index: usize,
        /// Its value.
        found: u64,
    },
    /// More elements or bytes than can be counted in 63 bits, or addressed.
    TooLarge {
        /// The dimensions, the fastest first.
        dims: Box<[u64]>,
    },
    /// Data that end beyond any file.
    TooFar {
        /// The offset in the data section.
        offset: u64,
    },
    /// The first dimension is no whole number of blocks.
    RaggedRow {
        /// The type.
        ty: GgmlType,
        /// The first dimension.
        k: u64,
    },
    /// The data do not begin at a multiple of the alignment.
    Misaligned {
        /// The offset in the data section.
        offset: u64,
        /// The file's alignment.
        alignment: u32,
    },
    /// The file ends before the tensors do.
    Truncated {
        /// Bytes that the whole file must have.
        needed: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// The data begin inside of another tensor's.
    Overlap {
        /// The other tensor.
        other: String,
        /// Where the other's data end.
        end: u64,
    },
    /// The data were asked for, of a type that is not known here.
    Type(TypeIdError),
    /// The tensor is no matrix of its type.
    Matrix(MatrixError),
    /// A block of a tensor holds an element that is infinite or NaN.
    NotFinite {
        /// The row, counted through all matrices of a stack.
        row: usize,
        /// The block in the row.
        block: usize,
    },
    /// A matrix was asked for, and the tensor is a stack of them.
    Stack {
        /// Matrices in the stack.
        slices: u64,
    },
    /// A slice was asked for that the stack does not have.
    NoSuchSlice {
        /// The slice asked for.
        index: usize,
        /// Slices there are.
        slices: u64,
    },
    /// The key or the tensor is not in the file.
    Missing,
    /// The number of a file in a set, `split.no`, is not below the number of files, `split.count`.
    ShardNumber {
        /// The number, from 0.
        found: u16,
        /// Files of the set.
        count: u16,
    },
    /// `split.no` or `split.count` is not what the name of the file says: two files may have been exchanged, or one be there
    /// twice.
    NotAsNamed {
        /// The value.
        found: u16,
        /// The value by the name.
        named: u16,
    },
    /// A later file of a set says otherwise than the first: it is of another model, or another set.
    NotAsFirst {
        /// The value, shortened.
        found: Box<str>,
        /// The value in the first file, shortened.
        expected: Box<str>,
    },
    /// `split.tensors.count` is not the number of tensors in all files of the set.
    TensorCount {
        /// The value.
        found: u64,
        /// Tensors that there are.
        expected: u64,
    },
    /// The tensor is in an earlier file of the set too.
    InTwoShards {
        /// The earlier file, counted from 0.
        first: usize,
        /// Where the tensor's header lies in it.
        first_at: u64,
    },
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGguf { start, hint: "" } => write!(f, "not GGUF, it starts with {start}"),
            Self::NotGguf { start, hint } => write!(f, "not GGUF, it starts with {start} ({hint})"),
            Self::BigEndian => f.write_str("a big-endian file, only little-endian ones are read"),
            Self::Version { found } => write!(f, "version {found}, only versions 2 and 3 are read"),
            Self::PastEnd { what, needed, left } => {
                write!(f, "{what} of {needed} bytes passes the end of the file, {left} bytes are left")
            }
            Self::TooMany { what, count, left } => {
                write!(f, "{count} {what} cannot lie in the {left} bytes that are left of the file")
            }
            Self::OutOfMemory => f.write_str("no memory for an index of what the file holds"),
            Self::NotUtf8 => f.write_str("text that is not UTF-8"),
            Self::EmptyName => f.write_str("the name is empty"),
            Self::NulInName => f.write_str("the name has a NUL inside"),
            Self::LongName { len, max } => write!(f, "the name has {len} bytes, at most {max} are allowed"),
            Self::Duplicate { first } => write!(f, "the name was used before, at byte {first}"),
            Self::ValueType { id } => write!(f, "value type {id} is unknown, expected 0 to {}", ValueType::MAX_ID),
            Self::NestedArray => f.write_str("an array of arrays, these are not read"),
            Self::Bool { found } => write!(f, "boolean {found}, expected 0 or 1"),
            Self::WrongType(mismatch) => mismatch.fmt(f),
            Self::Alignment { found } => {
                write!(f, "alignment {found}, expected a power of two from 1 to {MAX_ALIGNMENT}")
            }
            Self::DimensionCount { found } => write!(f, "{found} dimensions, expected 1 to 4"),
            Self::Dimension { index, found } => {
                write!(f, "dimension {index} is {found}, expected 1 to {}", i64::MAX)
            }
            Self::TooLarge { dims } => write!(f, "dimensions {dims:?} are more than can be addressed"),
            Self::TooFar { offset } => write!(f, "data offset {offset} leads beyond any file"),
            Self::RaggedRow { ty, k } => {
                write!(f, "rows of {k} elements are no whole number of {ty} blocks of {}", ty.block_len())
            }
            Self::Misaligned { offset, alignment } => {
                write!(f, "data offset {offset} is no multiple of the alignment {alignment}")
            }
            Self::Truncated { needed, found } => {
                write!(f, "the file is truncated: its tensors need {needed} bytes, it has {found}")
            }
            Self::Overlap { other, end } => {
                write!(f, "the data begin inside of tensor {}, which ends at byte {end}", quoted(other))
            }
            Self::Type(error) => error.fmt(f),
            Self::Matrix(error) => error.fmt(f),
            Self::NotFinite { row, block } => write!(f, "block {block} of row {row} is not finite"),
            Self::Stack { slices } => write!(f, "a stack of {slices} matrices, expected one matrix"),
            Self::NoSuchSlice { index, slices } => write!(f, "slice {index} of a stack of {slices}"),
            Self::Missing => f.write_str("not in the file"),
            Self::ShardNumber { found, count } => {
                write!(f, "number {found} of a set of {count}, expected 0 to {}", count.saturating_sub(1))
            }
            Self::NotAsNamed { found, named } => write!(f, "{found}, expected {named} by the name of the file"),
            Self::NotAsFirst { found, expected } => write!(f, "{found}, expected {expected} as in the first shard"),
            Self::TensorCount { found, expected } => write!(f, "{found} tensors, the set has {expected}"),
            Self::InTwoShards { first, first_at } => {
                write!(f, "the name was used before, at byte {first_at} of shard {}", first + 1)
            }
        }
    }
}

/// The largest `general.alignment`: the largest page that hardware maps (1 GiB). More is a damaged number.
pub(crate) const MAX_ALIGNMENT: u32 = 1 << 30;
