//! Writes GGUF files, version 3: for tests, for models made by a program, for quantization.
//!
//! ```
//! use keepq_gguf::{GgmlType, Gguf, write::Writer};
//!
//! let mut writer = Writer::new();
//! writer.put("general.architecture", "llama")?;
//! writer.put("llama.block_count", 1_u32)?;
//! writer.put("tokenizer.ggml.scores", [0.0_f32, -1.0])?;
//!
//! // Data from a slice, or streamed while the file is written, so that a model need not fit in memory.
//! writer.tensor("output_norm.weight", GgmlType::F32, &[2], &[0; 8])?;
//! writer.tensor_with("output.weight", GgmlType::F32, &[2, 1000], |out| {
//!     for _row in 0..1000 {
//!         out.write_all(&[0; 8])?;
//!     }
//!     Ok(())
//! })?;
//!
//! let mut bytes = Vec::new();
//! writer.write_to(&mut bytes)?;
//! assert_eq!(Gguf::parse(&bytes)?.require_tensor("output.weight")?.dims(), [2, 1000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod encode;
mod error;
mod file;
mod output;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use core::fmt;

use keepq_blocks::GgmlType;

use crate::gguf::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, is_alignment};
use crate::header::MAGIC;
use crate::names::{check_name, check_tensor_name};
use crate::shape::{Shape, fits_i64};
use crate::{ErrorKind, Subject, ValueType};

use output::{Exact, Output};

pub use encode::PutValue;
pub use error::WriteError;

/// Bytes of the longest key that the specification allows.
const MAX_KEY: usize = 65535;

/// Collects metadata and tensors, then writes the file in one pass.
///
/// Keys and tensors are written in the order they were added, each tensor's data padded to the alignment: 32
/// bytes, or what was put as `general.alignment`. Names, shapes and lengths are checked when they are
/// added; whatever is accepted can be read back. An error leaves the writer as it was.
pub struct Writer<'d> {
    alignment: u32,
    /// The entries, encoded.
    entries: Vec<u8>,
    keys: HashSet<Box<str>>,
    tensors: Vec<Pending<'d>>,
    names: HashSet<Box<str>>,
}

/// A tensor to be written.
struct Pending<'d> {
    name: Box<str>,
    ty: GgmlType,
    shape: Shape,
    byte_size: u64,
    data: Data<'d>,
}

enum Data<'d> {
    Slice(&'d [u8]),
    Stream(Box<Stream<'d>>),
}

type Stream<'d> = dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'd;

impl<'d> Writer<'d> {
    /// No metadata, no tensors, alignment 32.
    #[must_use]
    pub fn new() -> Self {
        Self {
            alignment: DEFAULT_ALIGNMENT,
            entries: Vec::new(),
            keys: HashSet::new(),
            tensors: Vec::new(),
            names: HashSet::new(),
        }
    }

    /// Adds a key: a number, a boolean, text, an array (slices, arrays and vectors of those), or a
    /// [`Value`](crate::Value) of another file. `general.alignment`, a `u32`, also sets the alignment.
    ///
    /// # Errors
    /// [`WriteError::Refused`] where the key is empty, has a NUL inside or more than 65535 bytes, or where
    /// the alignment is no `u32` or no power of two; [`WriteError::Duplicate`] where the key was put before.
    pub fn put(&mut self, key: &str, value: impl PutValue) -> Result<(), WriteError> {
        let refused = |kind| WriteError::Refused { subject: Subject::key(key), kind };
        check_name(key, MAX_KEY).map_err(refused)?;
        if self.keys.contains(key) {
            return Err(WriteError::Duplicate { subject: Subject::key(key) });
        }

        let mut encoded = Vec::new();
        value.encode(&mut encoded);
        if key == ALIGNMENT_KEY {
            let value_type = value.ty();
            let found = match <[u8; 4]>::try_from(encoded.as_slice()) {
                Ok(bytes) if value_type == ValueType::U32 => u32::from_le_bytes(bytes),
                _ => return Err(WriteError::AlignmentType { found: value_type }),
            };
            if !is_alignment(found) {
                return Err(refused(ErrorKind::Alignment { found }));
            }
            self.alignment = found;
        }

        put_string(&mut self.entries, key);
        self.entries.extend(value.ty().id().to_le_bytes());
        self.entries.extend(encoded);
        self.keys.insert(key.into());
        Ok(())
    }

    /// Adds a tensor, `dims` the fastest first (`[k]`, `[k, n]`, `[k, n, slices]`), whose data are at hand.
    ///
    /// # Errors
    /// [`WriteError::Refused`] where the name is empty, has a NUL inside or 64 bytes and more, where there are
    /// not 1 to 4 dimensions from 1 up, or where `dims[0]` is no whole number of blocks;
    /// [`WriteError::Duplicate`] where the name was used before; [`WriteError::DataLength`] where `data` has
    /// another length than the shape takes.
    pub fn tensor(&mut self, name: &str, ty: GgmlType, dims: &[u64], data: &'d [u8]) -> Result<(), WriteError> {
        let tensor = self.pending(name, ty, dims, Data::Slice(data))?;
        check_length(name, tensor.byte_size, data.len() as u64)?;
        self.add(tensor);
        Ok(())
    }

    /// Adds a tensor whose data are made while the file is written: `stream` is called once, after the
    /// tensors before it, and must write exactly the bytes that the shape takes.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor); the length is checked in [`write_to`](Self::write_to).
    pub fn tensor_with(
        &mut self,
        name: &str,
        ty: GgmlType,
        dims: &[u64],
        stream: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'd,
    ) -> Result<(), WriteError> {
        let tensor = self.pending(name, ty, dims, Data::Stream(Box::new(stream)))?;
        self.add(tensor);
        Ok(())
    }

    fn pending(&self, name: &str, ty: GgmlType, dims: &[u64], data: Data<'d>) -> Result<Pending<'d>, WriteError> {
        let refused = |kind| WriteError::Refused { subject: Subject::tensor(name), kind };
        check_tensor_name(name).map_err(refused)?;
        if self.names.contains(name) {
            return Err(WriteError::Duplicate { subject: Subject::tensor(name) });
        }
        let shape = Shape::new(dims).map_err(refused)?;
        let byte_size = shape.byte_size(ty).map_err(refused)?;
        Ok(Pending { name: name.into(), ty, shape, byte_size, data })
    }

    fn add(&mut self, tensor: Pending<'d>) {
        self.names.insert(tensor.name.clone());
        self.tensors.push(tensor);
    }

    /// Writes the file and gives its length. The output needs no buffer of its own.
    ///
    /// # Errors
    /// [`WriteError::Io`] where the output fails, [`WriteError::Stream`] where the data of a tensor cannot be
    /// made, [`WriteError::DataLength`] where they have another length than the shape takes.
    pub fn write_to(self, out: impl Write) -> Result<u64, WriteError> {
        let alignment = self.alignment.into();
        let mut out = Output::new(out);
        out.write_all(&self.header()?).map_err(WriteError::Io)?;
        out.pad(alignment).map_err(WriteError::Io)?;
        for tensor in self.tensors {
            tensor.write(&mut out)?;
            // The last one too: ggml reads whole multiples of the alignment.
            out.pad(alignment).map_err(WriteError::Io)?;
        }
        out.flush().map_err(WriteError::Io)?;
        Ok(out.len())
    }

    /// Writes the file to `path` and gives its length: into a new file in the same folder, which takes the
    /// place of an old one only when it is complete and on the disk. On an error nothing is left behind, and
    /// an old file stays as it was; one that is mapped stays so.
    ///
    /// # Errors
    /// [`WriteError::File`], naming the path, where the folder or the path cannot be written to or the path is no
    /// regular file; otherwise those of [`write_to`](Self::write_to).
    pub fn write_file(self, path: impl AsRef<Path>) -> Result<u64, WriteError> {
        file::replace(path.as_ref(), |out| self.write_to(out))
    }

    /// All that stands before the data section, without padding.
    fn header(&self) -> Result<Vec<u8>, WriteError> {
        let mut header = Vec::with_capacity(self.entries.len() + 128 * self.tensors.len() + 24);
        header.extend(MAGIC);
        header.extend(3_u32.to_le_bytes());
        header.extend((self.tensors.len() as u64).to_le_bytes());
        header.extend((self.keys.len() as u64).to_le_bytes());
        header.extend(&self.entries);

        let mut offset = 0_u64;
        for tensor in &self.tensors {
            put_string(&mut header, &tensor.name);
            let dims = tensor.shape.dims();
            header.extend((dims.len() as u32).to_le_bytes());
            header.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
            header.extend(tensor.ty.id().to_le_bytes());
            header.extend(offset.to_le_bytes());
            offset = offset
                .checked_add(tensor.byte_size)
                .and_then(|end| end.checked_next_multiple_of(self.alignment.into()))
                .filter(|&end| fits_i64(end))
                .ok_or_else(|| WriteError::Refused {
                    subject: Subject::tensor(&tensor.name),
                    kind: ErrorKind::TooFar { offset },
                })?;
        }
        Ok(header)
    }
}

impl Default for Writer<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("alignment", &self.alignment)
            .field("keys", &self.keys.len())
            .field("tensors", &self.tensors.len())
            .finish_non_exhaustive()
    }
}

impl Pending<'_> {
    fn write(self, out: &mut Output<impl Write>) -> Result<(), WriteError> {
        let mut exact = Exact::new(out, self.byte_size);
        let result = match self.data {
            Data::Slice(data) => exact.write_all(data),
            Data::Stream(stream) => stream(&mut exact),
        };
        match result {
            Err(error) if exact.out_failed() => Err(WriteError::Io(error)),
            // A stream that gave too much has seen an error, but what is wrong is its length.
            Err(error) if exact.given() <= self.byte_size => {
                Err(WriteError::Stream { tensor: Subject::tensor(&self.name), error })
            }
            _ => check_length(&self.name, self.byte_size, exact.given()),
        }
    }
}

fn check_length(tensor: &str, expected: u64, found: u64) -> Result<(), WriteError> {
    if expected == found {
        Ok(())
    } else {
        Err(WriteError::DataLength { tensor: Subject::tensor(tensor), expected, found })
    }
}

/// A string as files have it: its length in 8 bytes, then its bytes.
fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}
