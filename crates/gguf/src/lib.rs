//! **Invariant: the only published crate with I/O and mmap; hostile bytes give an error, never a panic.**
//!
//! Reads GGUF files where they lie, weights kept quantized: a file is mapped ([`Source`]), its header is
//! parsed and checked once ([`Gguf`]), and everything behind that is borrowed from the map. Metadata are
//! [`Value`]s that are read when asked for, a [`Tensor`] is a name, a shape and a slice of the file, and its
//! [`Matrix`] is what kernels take. [`mod@write`] makes such files.
//!
//! ```text
//! byte 0      "GGUF" | version u32 | tensor count u64 | key count u64
//!      24     entry 0:  key | value type u32 | value            a string is: length u64, bytes
//!             entry 1:  …                                       an array is: element type u32, count u64, elements
//!             tensor 0: name | dimensions u32 | dims u64 … | type u32 | offset u64
//!             tensor 1: …                                       nothing so far is padded
//!             padding to a multiple of `general.alignment` (32 where the key is missing)
//! section     data of a tensor at section + offset, offset a multiple of the alignment
//!             …                                                 any order, gaps allowed, no overlap
//! ```
//!
//! All numbers are little-endian. The format is the [GGUF specification] of the ggml project; versions 2 and
//! 3 are read (they differ in nothing that a little-endian file shows), 3 is written.
//!
//! ```
//! use keepq_gguf::{GgmlType, Items, Source, write::Writer};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("tiny.gguf");
//!
//! let weights = [0; 3 * 34]; // three rows of one Q8_0 block
//! let mut writer = Writer::new();
//! writer.put("general.architecture", "llama")?;
//! writer.put("tokenizer.ggml.tokens", ["a", "b", "c"])?;
//! writer.tensor("token_embd.weight", GgmlType::Q8_0, &[32, 3], &weights)?;
//! writer.write_file(&path)?;
//!
//! let source = Source::map(&path)?;
//! let gguf = source.parse()?;
//! let tokens: Items<'_, &str> = gguf.require("tokenizer.ggml.tokens")?;
//! assert!(tokens.eq(["a", "b", "c"]));
//!
//! // One row of an embedding, decoded straight from the map.
//! let embedding = gguf.require_tensor("token_embd.weight")?.matrix()?;
//! let mut row = [0.0; 32];
//! embedding.decode_row(2, &mut row)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sets of files
//!
//! Large models are published in several files, `model-00001-of-00003.gguf` and so on, as llama.cpp's `gguf-split` makes
//! them. [`open_set`] opens a model from any of its files, a plain file as a set of one, and its [`SourceSet`] parses to one
//! [`Gguf`]: readers of metadata and tensors need not know that there are several.
//!
//! # Hostile files
//!
//! Every fault is a [`GgufError`] that names the key or the tensor, the byte, what was expected and what was
//! found. Opening takes time linear in the header (sorting the names apart) and memory bounded by a small
//! multiple of it; nothing is reserved by a number that the file claims.
//!
//! Stricter than ggml, on purpose: tensors have 1 to 4 dimensions, none of them 0, and share no bytes;
//! booleans are 0 or 1; text is UTF-8; keys and names hold no NUL; the alignment is at most 2^30; all files of a
//! set have the names that their metadata say, and none names another model than the first. As in ggml, tensor
//! names have less than 64 bytes and arrays do not nest. More lenient than ggml: tensors lie in any order, with
//! gaps; integers are read whatever their width; types that are not known do not keep a file from opening; a
//! set opens from any of its files. A string *value* may hold a NUL, since some vocabularies have it as a token.
//!
//! [GGUF specification]: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#![deny(unsafe_code)]

mod array;
mod cursor;
mod error;
mod from_value;
mod gguf;
mod header;
mod map;
mod metadata;
mod names;
mod shape;
mod source;
mod split;
mod tensor;
mod tensors;
mod value;
pub mod write;

pub use array::{Array, Items, Values};
pub use error::{ErrorKind, GgufError, Subject, quoted};
pub use from_value::{FromValue, Mismatch};
pub use gguf::Gguf;
pub use keepq_blocks::{GgmlType, Matrix, MatrixError, TypeIdError};
pub use source::{OpenError, OpenErrorKind, Source};
pub use split::{SourceSet, open_set};
pub use tensor::Tensor;
pub use value::{Value, ValueType};
