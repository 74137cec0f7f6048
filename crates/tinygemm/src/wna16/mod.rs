//! The fallback: row-major groups of 4-bit codes in words of sixteen rows, for bf16 activations (`cpu_gemm_wna16`).
//!
//! ```text
//! words[N/16][K]      u64, little-endian: nibble i is the code of row 16 b + i
//! scales[K/group][N]  bf16
//! zeros[K/group][N/8] i32: nibble n % 8 of word n / 8 is the zero point of row n; or none, and all are 8
//! w = (code - zero) * scale, rounded to bf16
//! ```
//!
//! Unlike int4pack it rounds each weight to bf16, and its zero points are codes. It is read for what was packed for it; nothing
//! chooses it by itself.
//!
//! ```
//! use half::bf16;
//! use keepq_tinygemm::LayoutError;
//! use keepq_tinygemm::wna16::{Weights, Zeros, pack};
//!
//! let (n, k, group) = (16, 32, 32);
//! let codes: Vec<u8> = (0..n * k).map(|i| (i / k) as u8).collect(); // the code of a row is its number
//! let mut words = vec![0; n / 16 * k * 8];
//! pack(n, k, &codes, &mut words)?;
//! assert_eq!(words[..8], 0xfedc_ba98_7654_3210_u64.to_le_bytes());
//!
//! let scales = vec![bf16::from_f32(0.5); n];
//! let w = Weights::new((n, k), group, &words, &scales, Zeros::Eight)?;
//! let mut y = vec![0.0; n]; // m = 1
//! w.multiply(&vec![1.0; k], &mut y);
//! assert_eq!((y[0], y[8], y[15]), (-128.0, 0.0, 112.0));
//! # Ok::<(), LayoutError>(())
//! ```

mod stored;
mod weights;

pub use stored::Stored;
pub use weights::{Weights, Zeros, pack};

/// Rows of a word.
pub const ROWS: usize = 16;

const FORMAT: &str = "wna16";
