//! **Invariant: no `unsafe`; codes and scales equal those of ggml's `quantize_row_*_ref`, byte for byte.**
//!
//! Activations, quantized to meet quantized weights. A caller keeps an [`ActBuf`] (scratch that is reused),
//! quantizes `x[m,k]` into it once, and shares the resulting [`ActRows`] among all the matrices that read the
//! same `x` (q, k and v; gate and up).
//!
//! ```
//! use keepq_act::{ActBuf, ActFormat};
//!
//! let x: Vec<f32> = (0..64).map(|i| i as f32 - 20.0).collect(); // m = 2 tokens of k = 32
//! let mut buffer = ActBuf::new();
//! let rows = buffer.quantize(ActFormat::Q8_0, 2, 32, &x)?;
//! assert_eq!((rows.m(), rows.k()), (2, 32));
//! # Ok::<(), keepq_act::ActError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod buf;
mod error;
mod q8_0;
mod q8_k;
mod rows;

pub use buf::{ActBuf, Encoding, SharedActs};
pub use error::ActError;
pub use q8_0::{quantize_block, quantize_row_q8_1};
pub use q8_k::{quantize_row_q8_k, quantize_super_block};
pub use rows::{ActFormat, ActRows, Acts, Q8Rows};
