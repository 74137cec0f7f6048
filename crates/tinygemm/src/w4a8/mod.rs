//! W4A8: 4-bit codes group by group, for int8 activations, as PyTorch's `int4_scaled_mm_cpu` packs them.
//!
//! A record holds 32 rows by `bk = min(group, 128)` codes: nibbles, and for each row the sum of its codes less the zero
//! point. Records of the same rows follow each other with k; all of them are `[n / 32][k / bk][bk * 16 + 128]` bytes.
//!
//! ```text
//! record: | bk * 16 bytes of nibbles            | 32 × i32: compensation, little-endian |
//!
//! nibbles, 64 bytes for four k:
//!   byte h * 32 + i * 4 + j      h = 0, 1   i = 0 … 7   j = k % 4
//!   low  nibble   row 16 h + i
//!   high nibble   row 16 h + 8 + i
//! ```
//!
//! Scales are f32 and zero points i8, both `[n / 32][k / group][32]`: `w = (code - zero) * scale`. Symmetric weights have the zero point
//! 8. So four codes of a row lie side by side for products of bytes, and eight rows fill a register.
//!
//! The layout is that of `convert_weight_packed_scale_zp` in PyTorch 2.9.1. What it is multiplied by, and the order of the floats,
//! are in [`Weights::multiply`].
//!
//! ```
//! use keepq_tinygemm::w4a8::{Weights, by_blocks, pack, packed_bytes};
//! use keepq_tinygemm::{ActBuf, LayoutError};
//!
//! let (n, k, group) = (32, 64, 32);
//! let codes: Vec<u8> = (0..n * k).map(|i| (i % 16) as u8).collect();
//! // Plain [n, k / group], put into the order of the blocks.
//! let (mut zeros, mut scales) = (vec![0; n * 2], vec![0.0; n * 2]);
//! by_blocks(n, &vec![8; n * 2], &mut zeros)?;
//! by_blocks(n, &vec![0.5; n * 2], &mut scales)?;
//! let mut records = vec![0; packed_bytes(n, k, group)?];
//! let w = pack((n, k), group, &codes, &scales, &zeros, &mut records)?;
//! assert_eq!((w.code(9, 3), w.scale(9, 3)), (Some(codes[9 * k + 3]), Some(0.5)));
//!
//! let mut buffer = ActBuf::new();
//! let mut y = vec![0.0; n];
//! w.multiply(buffer.quantize(1, k, &vec![1.0; k])?, &mut y);
//! assert!((y[0] + 0.5 * 32.0).abs() < 1e-4); // codes less 8 are -0.5 in the mean
//! # Ok::<(), LayoutError>(())
//! ```

mod pack;
mod stored;
mod weights;

pub use pack::{by_blocks, pack, packed_bytes};
pub use stored::Stored;
pub use weights::{Record, Weights};

/// Rows of a record.
pub const ROWS: usize = 32;

/// The most codes of a row in a record.
pub const MAX_BLOCK: usize = 128;

const FORMAT: &str = "W4A8";
