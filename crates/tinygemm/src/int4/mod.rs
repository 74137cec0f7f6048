//! Per-channel int4: one scale a row, for int8 activations.
//!
//! ```text
//! codes[N][ceil(K/2)]   byte j = (w[2j] + 8) | (w[2j + 1] + 8) << 4
//! scales[N]             f32: w = level * scale, levels -7 … 7
//! ```
//!
//! The last high nibble of a row of odd length is 8, the code of the level 0, so that whole bytes may be multiplied whatever the
//! activation beside it. -8 is never made, so that the codes of `-w` are exactly those of `w` negated; it is read as what it says.
//!
//! Four bits a weight and nothing else: half of what int8 takes, for weights that are read again and again and fit into a
//! cache only so. The quality is that of a single scale a row.
//!
//! ```
//! use keepq_tinygemm::int4::{QuantizedMatrixQ4, linear_q4};
//! use keepq_tinygemm::{ActBuf, LayoutError};
//!
//! let w = QuantizedMatrixQ4::quantize(2, 3, &[7.0, -3.5, 0.4, 0.0, 0.0, 0.0])?;
//! // Levels 7, -4 (of -3.5, ties to even), 0 and the pad; a row of zeros has the scale 0.
//! assert_eq!(w.row(0), Some((&[0x4f, 0x88][..], 1.0)));
//! assert_eq!(w.row(1), Some((&[0x88, 0x88][..], 0.0)));
//!
//! let mut buffer = ActBuf::new();
//! let mut y = [0.0; 2];
//! linear_q4(buffer.quantize(1, 3, &[1.0, 0.0, 0.0])?, &w, &mut y);
//! assert!((y[0] - 7.0).abs() < 1e-5 && y[1] == 0.0);
//! # Ok::<(), LayoutError>(())
//! ```

mod linear;
mod matrix;

pub use linear::{dot_i32_q4, linear_q4};
pub use matrix::QuantizedMatrixQ4;

const FORMAT: &str = "int4";

/// What is added to a level to make its nibble.
const BIAS: i32 = 8;

/// The longest row: beyond it sums of products of codes could leave 32 bits.
pub const MAX_K: usize = 1 << 20;
