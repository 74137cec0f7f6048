//! W4A16: 4-bit codes as PyTorch's tinygemm packs them on a CPU (int4pack).
//!
//! Codes `w[n,k]` in 0..=15, two to a byte, `n * k / 2` bytes. The rows are cut into blocks of
//! [`Layout::block`] rows (the last one has what is left: a multiple of 16), blocks follow each other without
//! padding, and in a block k is the outer axis: for each k, the `width` codes of that column, in `width / 2` bytes.
//! So a kernel reads one column of a block after another, and a row is nibbles at a stride.
//!
//! ```text
//! n = 80, AVX-512:
//!   | block 0: rows 0 … 63                   | block 1: rows 64 … 79                |
//!   | k = 0 | k = 1 | k = 2 | …  (32 B each) | k = 0 | k = 1 | k = 2 | …  (8 B each) |
//!
//! split halves: a full block of AVX-512 or AVX2; n0 its first row, h = width / 2
//!   byte d   0        1                  h - 1
//!   low    | n0     | n0 + 1     | … | n0 + h - 1     |
//!   high   | n0 + h | n0 + h + 1 | … | n0 + width - 1 |
//!
//! pairs: a last block that is not full, and any block of scalar
//!   byte d   0        1                  h - 1
//!   low    | n0     | n0 + 2     | … | n0 + width - 2 |
//!   high   | n0 + 1 | n0 + 3     | … | n0 + width - 1 |
//! ```
//!
//! | layout | block | full block | last block of 16, 32 or 48 rows |
//! |---|---|---|---|
//! | [`Avx512`](Layout::Avx512) | 64 | split halves | pairs |
//! | [`Avx2`](Layout::Avx2) | 32 | split halves | pairs |
//! | [`Scalar`](Layout::Scalar) | 32 | pairs | pairs |
//!
//! The three have the same shape and any bytes are legal in each, so that nothing in the bytes tells them apart:
//! the tag travels with them.
//!
//! The layouts are those of `_convert_weight_to_int4pack_for_cpu` in PyTorch 2.9.1
//! (`aten/src/ATen/native/cpu/int4mm_kernel.cpp`). Its `innerKTiles` has no effect on a CPU. It does not check
//! codes, and one above 15 spoils its neighbour in the byte: [`pack`] refuses it.
//!
//! [`Weights`] are codes with their scales and zeros; [`RowMajor`] is the same in the plain order of `cpu_int4` checkpoints, and
//! is packed from there without a copy in between.
//!
//! ```
//! use keepq_tinygemm::w4a16::{Layout, Packed, PackedError, pack, packed_bytes};
//!
//! // 80 rows of k = 4: one block of 64 rows and one of 16.
//! let (n, k) = (80, 4);
//! let codes: Vec<u8> = (0..n * k).map(|i| (i % 13) as u8).collect();
//! let mut bytes = vec![0; packed_bytes(n, k)?];
//! pack(Layout::Avx512, n, k, &codes, &mut bytes)?;
//! assert_eq!(bytes[0], codes[0] | codes[32 * k] << 4);
//! assert_eq!(bytes[64 * k / 2], codes[64 * k] | codes[65 * k] << 4);
//!
//! let packed = Packed::new(Layout::Avx512, n, k, &bytes)?;
//! assert!(packed.row(70).unwrap().eq(codes[70 * k..71 * k].iter().copied()));
//!
//! // The same bytes under another tag are legal, and other codes.
//! let mut other = vec![0; n * k];
//! Packed::new(Layout::Avx2, n, k, &bytes)?.unpack(&mut other)?;
//! assert_ne!(other, codes);
//! # Ok::<(), PackedError>(())
//! ```

mod arithmetic;
mod error;
mod layout;
mod packed;
mod row_major;
mod stored;
mod weights;

pub use error::PackedError;
pub use layout::Layout;
pub use packed::{Packed, pack, packed_bytes};
pub use row_major::{RowMajor, pack_row_major};
pub use stored::{Stored, StoredRowMajor};
pub use weights::Weights;
