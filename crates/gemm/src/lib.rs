//! **Invariant: the only crate with threads; `unsafe` in two places ([`ColumnsMut`], disjoint output columns; [`Team`], which lends its threads what a call borrows); no weight is packed or expanded behind the caller's back.**
//!
//! The driver: `y[m,n] = x[m,k] · w[n,k]ᵀ` for any `m` from 0 up. It cuts the output into strips of columns, hands
//! them to threads, and runs a tier's kernel on each. The result has the same bits for any thread count, any tier
//! and any `m`.
//!
//! ```
//! use keepq_act::{ActBuf, ActFormat};
//! use keepq_blocks::{GgmlType, Matrix, encode_row};
//! use keepq_gemm::{Driver, Scratch, Serial};
//! use keepq_simd::Tier;
//!
//! let mut bytes = [0; 3 * 34];
//! encode_row(GgmlType::Q8_0, &[1.0; 96], &mut bytes)?; // w: n = 3, k = 32
//! let w = Matrix::new(GgmlType::Q8_0, 3, 32, &bytes)?;
//! let mut buffer = ActBuf::new();
//! let x = buffer.quantize(ActFormat::Q8_0, 2, 32, &[0.5; 64])?; // x: m = 2
//!
//! let driver = Driver::new(Tier::best(), &Serial);
//! let (mut y, mut scratch) = ([0.0; 6], Scratch::new());
//! driver.matmul(x, w, &mut y, &mut scratch)?;
//! assert!(y.iter().all(|v| (v - 16.0).abs() < 0.1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Mixtures of experts multiply each row by a matrix of its own: [`Driver::matmul_indexed`] takes a stack of matrices,
//! perhaps of different types, and [`Route`]s that say which row meets which. Only the slices that a route leads to are
//! read.
//!
//! How weights are held is the caller's choice, a [`Residency`]: a [`Weight`] or a [`WeightStack`] are the file's own
//! blocks, or what was expanded because the caller said so.
//!
//! With the feature `tinygemm` the same driver multiplies by weights of the 4-bit paths beside GGUF: `Driver::matmul_w4a16`,
//! `matmul_w4a8`, `matmul_int4` and `matmul_wna16`; `FourBitWeight` holds weights of any of them.
//!
//! Threads belong to an [`Executor`]: [`Serial`], a [`Team`] (the default for more than one thread) or [`Rayon`]. Every
//! entry into a pool from outside costs microseconds: run a whole forward pass inside one [`Executor::enter`].
#![deny(unsafe_code)]

mod columns;
mod driver;
mod error;
mod executor;
mod indexed;
mod many;
mod operands;
mod pieces;
mod routing;
mod scratch;
#[cfg(feature = "tinygemm")]
mod tinygemm;
mod weight;
mod weight_stack;

pub use columns::ColumnsMut;
pub use driver::Driver;
pub use error::{ExecutorError, MatmulError, StackError};
pub use executor::{
    Executor, MOST_THREADS, Rayon, Serial, Team, default_executor, executor_from_env, threads_from_env,
};
pub use indexed::Route;
pub use scratch::Scratch;
#[cfg(feature = "tinygemm")]
pub use tinygemm::{FourBit, FourBitWeight, W4A16Switches, W4A16Weight};
pub use weight::{Reason, Residency, ResidencyError, Weight};
pub use weight_stack::WeightStack;
