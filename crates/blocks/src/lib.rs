//! **Invariant: no I/O, no threads, no `unsafe`, no allocation; any byte address is legal, since every block has alignment 1.**
//!
//! What the bytes of a GGUF tensor mean: type ids and their geometry ([`GgmlType`]), one block struct a
//! storage type with its decoder and encoder, and [`Matrix`], the checked view of weight rows that
//! every other crate takes.
//!
//! A *block* is the smallest group of elements with a scale of its own. A row of a matrix is whole
//! blocks, one after another, and rows follow each other without padding:
//!
//! ```text
//! row 0: | block 0 | block 1 | … | block k/LEN - 1 |
//! row 1: | block 0 | …
//! ```
//!
//! The layouts are ggml's (`ggml-common.h`), and so are the bytes that the encoders write: they equal
//! those of its `quantize_row_*_ref` functions.
//!
//! ```
//! use keepq_blocks::{BlockQ8_0, GgmlType, Matrix, encode_row};
//!
//! let weights = [0.25_f32; 64]; // one row of k = 64
//! let mut bytes = [0_u8; 2 * size_of::<BlockQ8_0>()];
//! encode_row(GgmlType::Q8_0, &weights, &mut bytes)?;
//!
//! let matrix = Matrix::new(GgmlType::Q8_0, 1, 64, &bytes)?;
//! let mut row = [0.0; 64];
//! matrix.decode_row(0, &mut row)?;
//! assert!((row[63] - 0.25).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod block;
mod encode;
mod f32;
mod half_bits;
mod iq4_nl;
mod iq4_xs;
mod k_quants;
mod matrix;
mod mxfp4;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod q8_1;
mod q8_k;
mod types;

pub use block::Block;
pub use encode::{EncodeError, encode_row};
pub use f32::BlockF32;
pub use half_bits::{Bf16, F16};
pub use iq4_nl::BlockIQ4_NL;
pub use iq4_xs::BlockIQ4_XS;
pub use matrix::{Matrix, MatrixError, RowError, Rows};
pub use mxfp4::BlockMXFP4;
pub use q2_k::BlockQ2_K;
pub use q3_k::BlockQ3_K;
pub use q4_0::BlockQ4_0;
pub use q4_1::BlockQ4_1;
pub use q4_k::BlockQ4_K;
pub use q5_0::BlockQ5_0;
pub use q5_1::BlockQ5_1;
pub use q5_k::BlockQ5_K;
pub use q6_k::BlockQ6_K;
pub use q8_0::BlockQ8_0;
pub use q8_1::BlockQ8_1;
pub use q8_k::BlockQ8_K;
pub use types::{GgmlType, TypeIdError};
