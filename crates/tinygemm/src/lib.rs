//! **Invariant: layouts, validation, portable reference, selector as a pure function; knows nothing of GGUF.**
//!
//! The 4-bit CPU paths that exist beside GGUF. They are no variants of one another: each has its own
//! bytes, and bytes are never taken for another path's by their shape.
//!
//! * [`w4a16`]: codes in tinygemm's int4pack layouts, for activations of 16 bits.
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

pub mod w4a16;
