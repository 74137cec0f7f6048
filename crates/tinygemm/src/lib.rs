//! **Invariant: layouts, validation, portable reference, selector as a pure function; knows nothing of GGUF.**
//!
//! The 4-bit CPU paths that exist beside GGUF. They are no variants of one another: each has its own
//! bytes, and bytes are never taken for another path's by their shape.
//!
//! | module | weights | activations | who defines the bits |
//! |---|---|---|---|
//! | [`w4a16`] | int4pack in three layouts, bf16 scale and offset of a group; row-major `cpu_int4` | bf16 | PyTorch's operators |
//! | [`w4a8`] | records of 32 rows, f32 scale and integer zero point of a group | int8 of a token | PyTorch's source |
//! | [`int4`] | rows of nibbles, one f32 scale a row | int8 of a token | this project |
//! | [`wna16`] | words of sixteen rows, bf16 scale and integer zero point of a group | bf16 | this project |
//!
//! Each has a checked view of its bytes, a packer, and a `multiply` that is the definition of its results, step by step as
//! `docs/NUMERICS.md` has them. Accelerated bodies are in `keepq-simd`, and have the same bits.
//!
//! [`select`](select::select) says which of them to take on a machine, and why.
//!
//! [`Acts`] are the int8 activations of [`w4a8`] and [`int4`], quantized a token at a time.
//!
//! ```
//! use keepq_tinygemm::w4a16::{Layout, pack, packed_bytes};
//!
//! let (n, k) = (16, 2);
//! let codes: Vec<u8> = (0..n * k).map(|i| (i % 16) as u8).collect();
//! let mut bytes = vec![0; packed_bytes(n, k)?];
//!
//! let packed = pack(Layout::Avx2, n, k, &codes, &mut bytes)?;
//! assert_eq!(packed.code(9, 1), Some(codes[9 * k + 1]));
//! # Ok::<(), keepq_tinygemm::w4a16::PackedError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod acts;
mod bf16s;
mod error;
pub mod int4;
pub mod select;
mod slab;
pub mod w4a16;
pub mod w4a8;
pub mod wna16;

pub use acts::{ActBuf, Acts, SUM, TokensMut};
pub use bf16s::{narrow, widen};
pub use error::{GROUPS, LayoutError, is_group};
pub use slab::{SLAB_HALF, SLAB_ROWS, Slab};
