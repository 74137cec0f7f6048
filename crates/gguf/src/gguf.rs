//! [`Gguf`]: the checked parse of a file.

use crate::cursor::Cursor;
use crate::error::MAX_ALIGNMENT;
use crate::header::Header;
use crate::metadata::Metadata;
use crate::tensors::Tensors;
use crate::{ErrorKind, FromValue, GgufError, Subject, Tensor, Value};

/// The key that sets the alignment of tensor data.
pub(crate) const ALIGNMENT_KEY: &str = "general.alignment";

/// The alignment where the key is missing.
pub(crate) const DEFAULT_ALIGNMENT: u32 = 32;

/// A parsed GGUF file: metadata and tensors, borrowed from its bytes.
///
/// Parsing reads the header once and checks all of it. It allocates an index of the keys and one of the
/// tensors, and nothing for a string or a value; both grow with the bytes read, never by a count that the
/// file claims.
///
/// ```
/// use keepq_gguf::{GgmlType, Gguf, write::Writer};
///
/// let weights = [0; 2 * 34]; // two rows of one Q8_0 block
/// let mut writer = Writer::new();
/// writer.put("general.architecture", "llama")?;
/// writer.tensor("output.weight", GgmlType::Q8_0, &[32, 2], &weights)?;
/// let mut bytes = Vec::new();
/// writer.write_to(&mut bytes)?;
///
/// let gguf = Gguf::parse(&bytes)?;
/// let architecture: &str = gguf.require("general.architecture")?;
/// let context: Option<u32> = gguf.get("llama.context_length")?;
/// assert_eq!((architecture, context), ("llama", None));
///
/// let w = gguf.require_tensor("output.weight")?.matrix()?;
/// assert_eq!((w.ty(), w.n(), w.k()), (GgmlType::Q8_0, 2, 32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Gguf<'a> {
    version: u32,
    alignment: u32,
    shards: usize,
    metadata: Metadata<'a>,
    tensors: Tensors<'a>,
}

impl<'a> Gguf<'a> {
    /// Parses a file of version 2 or 3, little-endian, from bytes at any address.
    ///
    /// # Errors
    /// [`GgufError`] for whatever in the header is not as the format says, for data that lie outside of
    /// the file, and for tensors that overlap. Any bytes give a file or an error; none panic.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, GgufError> {
        let mut cursor = Cursor::new(bytes);
        let header = Header::read(&mut cursor, bytes)?;
        let metadata = Metadata::read(&mut cursor, header.keys)?;
        let alignment = alignment(&metadata)?;
        let tensors = Tensors::read(&mut cursor, header.tensors, alignment, bytes)?;
        Ok(Self { version: header.version, alignment, shards: 1, metadata, tensors })
    }

    /// Files that the model is in: 1, or as many as the set has that [`SourceSet::parse`](crate::SourceSet::parse) read.
    #[must_use]
    pub const fn shards(&self) -> usize {
        self.shards
    }

    /// The version of the format: 2 or 3. Of a set, that of the first file.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// What the offsets of tensor data are multiples of, in bytes: a power of two. Of a set, that of the first file; the
    /// others may have their own.
    #[must_use]
    pub const fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Keys and values in the order of the file.
    pub fn metadata(&self) -> impl ExactSizeIterator<Item = (&'a str, Value<'a>)> {
        self.metadata.iter()
    }

    /// The value of a key, whatever its type; none where the key is missing.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value<'a>> {
        self.metadata.value(key)
    }

    /// The value of a key as `T`; none where the key is missing.
    ///
    /// `T` is an integer, a float, `bool`, `&str`, [`Array`](crate::Array), or
    /// [`Items<T>`](crate::Items) for the elements of an array; see [`FromValue`].
    ///
    /// # Errors
    /// [`ErrorKind::WrongType`] where the value is no `T` or does not fit it.
    pub fn get<T: FromValue<'a>>(&self, key: &str) -> Result<Option<T>, GgufError> {
        self.metadata.get(key)
    }

    /// As [`get`](Self::get), for keys that must be there.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`] where the key is missing; otherwise those of [`get`](Self::get).
    pub fn require<T: FromValue<'a>>(&self, key: &str) -> Result<T, GgufError> {
        self.get(key)?.ok_or_else(|| GgufError::missing(Subject::key(key)))
    }

    /// The tensors in the order of the file; of a set, those of the first file, then those of the second.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor<'a>] {
        self.tensors.all()
    }

    /// The tensor with this name; none where there is none.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&Tensor<'a>> {
        self.tensors.find(name)
    }

    /// The tensor with this name, which must be there.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`], naming the tensor, where there is none.
    pub fn require_tensor(&self, name: &str) -> Result<&Tensor<'a>, GgufError> {
        self.tensor(name).ok_or_else(|| GgufError::missing(Subject::tensor(name)))
    }
}

// What sets are made of.
impl<'a> Gguf<'a> {
    pub(crate) fn entries(&self) -> &Metadata<'a> {
        &self.metadata
    }

    pub(crate) fn into_tensors(self) -> Tensors<'a> {
        self.tensors
    }

    /// Adds the tensors of the later files of a set.
    pub(crate) fn add_shards(&mut self, others: Vec<Tensors<'a>>) -> Result<(), GgufError> {
        self.shards += others.len();
        self.tensors.add_shards(others)
    }
}

fn alignment(metadata: &Metadata<'_>) -> Result<u32, GgufError> {
    let alignment = metadata.get(ALIGNMENT_KEY)?.unwrap_or(DEFAULT_ALIGNMENT);
    if is_alignment(alignment) {
        Ok(alignment)
    } else {
        Err(metadata.error(ALIGNMENT_KEY, ErrorKind::Alignment { found: alignment }))
    }
}

/// Whether tensor data may be aligned so.
pub(crate) const fn is_alignment(alignment: u32) -> bool {
    alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT
}
