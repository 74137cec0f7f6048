//! **Invariant: no `unsafe`, `no_std`; this crate is the definition of every result, bit by bit (docs/NUMERICS.md).**
//!
//! Portable kernels. `y[m,n] = x[m,k] · w[n,k]ᵀ` in the order that `docs/NUMERICS.md` fixes, float row operations
//! ([`rows`]) included. Accelerated tiers instantiate the same bodies for other instruction sets, or write their own
//! and must give the same bits.
//!
//! The way in is [`Product`], a checked pair of activations and weights, and [`strip`], which multiplies a few rows of
//! weights by all tokens:
//!
//! ```
//! use keepq_act::{ActBuf, ActFormat};
//! use keepq_blocks::{GgmlType, Matrix, encode_row};
//! use keepq_dot::{Portable, Product, Scratch, strip};
//!
//! let mut bytes = [0; 2 * 34];
//! encode_row(GgmlType::Q8_0, &[0.5; 64], &mut bytes)?; // w: n = 2, k = 32
//! let w = Matrix::new(GgmlType::Q8_0, 2, 32, &bytes)?;
//! let mut buffer = ActBuf::new();
//! let x = buffer.quantize(ActFormat::Q8_0, 1, 32, &[2.0; 32])?; // x: m = 1
//!
//! let product = Product::new(x, w)?;
//! let mut scratch = Scratch::new();
//! scratch.fit(&product);
//! let mut y = [0.0; 2];
//! strip(Portable, product, &mut y, &mut scratch);
//! assert!((y[0] - 32.0).abs() < 0.01 && y[0] == y[1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![allow(
    clippy::needless_range_loop,
    reason = "lanes of several arrays move together; iterators hide that from the compiler too"
)]

extern crate alloc;

mod columns;
mod float;
mod interleaved;
pub mod kn;
mod math;
mod octets;
mod portable;
mod product;
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
mod quantized;
pub mod rows;
mod scratch;
mod strip;
mod target;

pub use columns::eight;
pub use float::dot_float;
pub use interleaved::{Interleaved, InterleavedRows, WeightRows};
pub use math::exp;
pub use octets::Octet;
pub use portable::Portable;
pub use product::{Product, ProductError};
pub use quantized::{Quantized, dot_quantized};
pub use scratch::Scratch;
pub use strip::{Way, strip, strip_by, strip_interleaved, strip_rows};
pub use target::{LANES, Target};
