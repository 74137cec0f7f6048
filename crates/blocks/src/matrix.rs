//! [`Matrix`]: the checked view of weight rows.

use core::fmt;
use core::ops::Range;

use crate::block::{Block, decode_blocks, first_not_finite};
use crate::{
    Bf16, BlockF32, BlockIQ4_NL, BlockIQ4_XS, BlockMXFP4, BlockQ2_K, BlockQ3_K, BlockQ4_0, BlockQ4_1, BlockQ4_K,
    BlockQ5_0, BlockQ5_1, BlockQ5_K, BlockQ6_K, BlockQ8_0, F16, GgmlType,
};

macro_rules! storage_types {
    ($($(#[$doc:meta])* $ty:ident($block:ty);)*) => {
        /// The blocks of a [`Matrix`], typed: row after row, `k / LEN` blocks each.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_camel_case_types, reason = "the field's names")]
        pub enum Rows<'a> {
            $($(#[$doc])* $ty(&'a [$block]),)*
        }

        impl<'a> Rows<'a> {
            /// `bytes` as blocks of `ty`; `None` where the type has no decoder.
            ///
            /// Blocks have alignment 1: the cast fails for no address. The caller has checked the length.
            fn new(ty: GgmlType, bytes: &'a [u8]) -> Option<Self> {
                match ty {
                    $(GgmlType::$ty => Some(Self::$ty(bytemuck::cast_slice(bytes))),)*
                    _ => None,
                }
            }

            fn ty(&self) -> GgmlType {
                match self { $(Self::$ty(_) => GgmlType::$ty,)* }
            }

            fn bytes(&self) -> &'a [u8] {
                match *self { $(Self::$ty(blocks) => bytemuck::cast_slice(blocks),)* }
            }

            /// Some of the rows of `k` elements.
            fn rows(&self, range: Range<usize>, k: usize) -> Self {
                match *self {
                    $(Self::$ty(blocks) => {
                        let row = k / <$block>::LEN;
                        Self::$ty(&blocks[range.start * row..range.end * row])
                    })*
                }
            }

            fn first_not_finite(&self) -> Option<usize> {
                match self { $(Self::$ty(blocks) => first_not_finite(blocks),)* }
            }

            /// Writes the elements to `out`, which holds exactly as many.
            fn decode(&self, out: &mut [f32]) {
                match self { $(Self::$ty(blocks) => decode_blocks(blocks, out),)* }
            }
        }
    };
}

storage_types! {
    /// IEEE binary32.
    F32(BlockF32);
    /// IEEE binary16.
    F16(F16);
    /// bfloat16.
    BF16(Bf16);
    /// Nibbles with a scale.
    Q4_0(BlockQ4_0);
    /// Nibbles with a scale and a minimum.
    Q4_1(BlockQ4_1);
    /// Five bits with a scale.
    Q5_0(BlockQ5_0);
    /// Five bits with a scale and a minimum.
    Q5_1(BlockQ5_1);
    /// Signed bytes with a scale.
    Q8_0(BlockQ8_0);
    /// Two bits, sub-blocks of 16 with 4-bit scale and minimum.
    Q2_K(BlockQ2_K);
    /// Three bits, sub-blocks of 16 with a 6-bit scale.
    Q3_K(BlockQ3_K);
    /// Four bits, sub-blocks of 32 with 6-bit scale and minimum.
    Q4_K(BlockQ4_K);
    /// Five bits, sub-blocks of 32 with 6-bit scale and minimum.
    Q5_K(BlockQ5_K);
    /// Six bits, sub-blocks of 16 with an 8-bit scale.
    Q6_K(BlockQ6_K);
    /// Four bits into a table of 16 values.
    IQ4_NL(BlockIQ4_NL);
    /// Four bits into a table of 16 values, sub-blocks of 32 with a 6-bit scale.
    IQ4_XS(BlockIQ4_XS);
    /// 4-bit floats (E2M1) with a power of two as scale.
    MXFP4(BlockMXFP4);
}

/// Weights `w[n,k]` where they lie: `n` rows of `k` elements, each row whole blocks, rows without padding.
///
/// Made once, checked: the type has a decoder here, `k` is whole blocks, the bytes are exactly
/// `n * row_bytes`. Everything behind it can rely on that. The view is two words and three numbers; copy it.
///
/// ```
/// use keepq_blocks::{GgmlType, Matrix, MatrixError};
///
/// let bytes = [0; 2 * 34];
/// let w = Matrix::new(GgmlType::Q8_0, 2, 32, &bytes)?;
/// assert_eq!((w.n(), w.k(), w.rows(1..2).n()), (2, 32, 1));
///
/// // k = 33 is no whole number of blocks.
/// assert!(matches!(Matrix::new(GgmlType::Q8_0, 2, 33, &bytes), Err(MatrixError::RaggedRow { .. })));
/// # Ok::<(), MatrixError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    typed: Rows<'a>,
    n: usize,
    k: usize,
}

impl<'a> Matrix<'a> {
    /// A view of `bytes` as `n` rows of `k` elements of type `ty`.
    ///
    /// # Errors
    /// [`MatrixError::RaggedRow`] where `k` is no multiple of the block, [`MatrixError::WrongLength`] where
    /// `bytes` are not exactly `n` rows, [`MatrixError::Unsupported`] where the type has no decoder.
    pub fn new(ty: GgmlType, n: usize, k: usize, bytes: &'a [u8]) -> Result<Self, MatrixError> {
        let row_bytes = ty.row_bytes(k).ok_or(MatrixError::RaggedRow { ty, k })?;
        let expected = row_bytes.checked_mul(n).ok_or(MatrixError::TooLarge { ty, n, k })?;
        if bytes.len() != expected {
            return Err(MatrixError::WrongLength { ty, n, k, expected, found: bytes.len() });
        }
        let typed = Rows::new(ty, bytes).ok_or(MatrixError::Unsupported { ty })?;
        Ok(Self { typed, n, k })
    }

    /// The type of the elements.
    #[must_use]
    pub fn ty(&self) -> GgmlType {
        self.typed.ty()
    }

    /// Rows: output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Elements of a row: the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The blocks, typed, for kernels: `n * k / LEN` of them.
    #[must_use]
    pub const fn typed(&self) -> Rows<'a> {
        self.typed
    }

    /// The bytes viewed.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.typed.bytes()
    }

    /// The view of some of the rows.
    ///
    /// # Panics
    /// Where `range` passes `n`: it is the caller's arithmetic, not input.
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.n, "rows {range:?} of {}", self.n);
        Self { n: range.len(), typed: self.typed.rows(range, self.k), k: self.k }
    }

    /// Decodes one row to `out` (`k` elements), as an embedding look-up does, straight from the bytes.
    ///
    /// # Errors
    /// [`RowError`] where there is no such row or `out` has another length than `k`.
    pub fn decode_row(&self, row: usize, out: &mut [f32]) -> Result<(), RowError> {
        if row >= self.n {
            return Err(RowError::NoSuchRow { row, n: self.n });
        }
        if out.len() != self.k {
            return Err(RowError::WrongLength { expected: self.k, found: out.len() });
        }
        self.rows(row..row + 1).typed.decode(out);
        Ok(())
    }
}

impl Matrix<'_> {
    /// Row, and block in the row, of the first element that is infinite or NaN, as a damaged scale makes them; `None`
    /// where all are finite. Reads all of the weights.
    #[must_use]
    pub fn first_not_finite(&self) -> Option<(usize, usize)> {
        let row_blocks = self.k / self.ty().block_len();
        self.typed.first_not_finite().map(|block| (block / row_blocks, block % row_blocks))
    }
}

/// Why bytes are no matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixError {
    /// `k` is no multiple of the type's block.
    RaggedRow {
        /// The type.
        ty: GgmlType,
        /// Elements asked for in a row.
        k: usize,
    },
    /// The bytes are not exactly `n` rows.
    WrongLength {
        /// The type.
        ty: GgmlType,
        /// Rows.
        n: usize,
        /// Elements of a row.
        k: usize,
        /// Bytes that `n` rows take.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// `n` rows would take more bytes than can be addressed.
    TooLarge {
        /// The type.
        ty: GgmlType,
        /// Rows.
        n: usize,
        /// Elements of a row.
        k: usize,
    },
    /// The type has no decoder in this version.
    Unsupported {
        /// The type.
        ty: GgmlType,
    },
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RaggedRow { ty, k } => {
                write!(f, "{ty}: rows of {k} elements are no whole number of blocks of {}", ty.block_len())
            }
            Self::WrongLength { ty, n, k, expected, found } => {
                write!(f, "{ty}: {n} rows of {k} elements take {expected} bytes, found {found}")
            }
            Self::TooLarge { ty, n, k } => write!(f, "{ty}: {n} rows of {k} elements cannot be addressed"),
            Self::Unsupported { ty } => write!(f, "{ty}: this version cannot decode it"),
        }
    }
}

impl core::error::Error for MatrixError {}

/// Why a row was not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// The matrix has no such row.
    NoSuchRow {
        /// The row asked for.
        row: usize,
        /// Rows there are.
        n: usize,
    },
    /// The output has another length than a row.
    WrongLength {
        /// Elements of a row.
        expected: usize,
        /// Elements of the output.
        found: usize,
    },
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchRow { row, n } => write!(f, "row {row} of a matrix of {n} rows"),
            Self::WrongLength { expected, found } => {
                write!(f, "a row has {expected} elements, the output {found}")
            }
        }
    }
}

impl core::error::Error for RowError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{string::ToString, vec::Vec};

    use super::*;

    const SUPPORTED: [GgmlType; 16] = [
        GgmlType::F32,
        GgmlType::F16,
        GgmlType::BF16,
        GgmlType::Q4_0,
        GgmlType::Q4_1,
        GgmlType::Q5_0,
        GgmlType::Q5_1,
        GgmlType::Q8_0,
        GgmlType::Q2_K,
        GgmlType::Q3_K,
        GgmlType::Q4_K,
        GgmlType::Q5_K,
        GgmlType::Q6_K,
        GgmlType::IQ4_NL,
        GgmlType::IQ4_XS,
        GgmlType::MXFP4,
    ];

    #[test]
    fn ragged_k_is_refused_for_every_type() {
        for ty in GgmlType::ALL.iter().filter(|ty| ty.block_len() > 1) {
            for k in [1, ty.block_len() - 1, ty.block_len() + 1] {
                assert_eq!(Matrix::new(*ty, 1, k, &[]).unwrap_err(), MatrixError::RaggedRow { ty: *ty, k });
            }
        }
    }

    #[test]
    fn lengths_and_sizes_are_checked() {
        let error = Matrix::new(GgmlType::Q8_0, 2, 32, &[0; 67]).unwrap_err();
        assert_eq!(error.to_string(), "Q8_0: 2 rows of 32 elements take 68 bytes, found 67");
        let error = Matrix::new(GgmlType::F32, usize::MAX, 8, &[]).unwrap_err();
        assert!(matches!(error, MatrixError::TooLarge { .. }));
        assert_eq!(
            Matrix::new(GgmlType::IQ1_S, 0, 256, &[]).unwrap_err(),
            MatrixError::Unsupported { ty: GgmlType::IQ1_S }
        );
    }

    #[test]
    fn rows_are_found_at_any_address() {
        for ty in SUPPORTED {
            let (n, k) = (3, 256);
            let row = ty.row_bytes(k).unwrap();
            let bytes: Vec<u8> = (0..=n * row).map(|i| (i % 53) as u8).collect();
            let w = Matrix::new(ty, n, k, &bytes[1..]).unwrap();
            assert_eq!((w.ty(), w.n(), w.k()), (ty, n, k));
            assert_eq!(w.bytes(), &bytes[1..]);
            assert_eq!(w.rows(1..3).bytes(), &bytes[1 + row..]);

            let (mut whole, mut part) = ([0.0; 256], [0.0; 256]);
            w.decode_row(2, &mut whole).unwrap();
            w.rows(2..3).decode_row(0, &mut part).unwrap();
            assert_eq!(whole.map(f32::to_bits), part.map(f32::to_bits), "{ty}");
        }
    }

    #[test]
    fn a_scale_that_is_not_finite_is_found() {
        let mut bytes = [0; 6 * 34];
        let whole = |bytes: &[u8]| Matrix::new(GgmlType::Q8_0, 2, 96, bytes).unwrap().first_not_finite();
        bytes[4 * 34 + 2] = 1;
        assert_eq!(whole(&bytes), None);
        bytes[4 * 34..][..2].copy_from_slice(&0x7e00_u16.to_le_bytes());
        assert_eq!(whole(&bytes), Some((1, 1)));
    }

    #[test]
    fn a_row_that_is_not_there_is_an_error() {
        let w = Matrix::new(GgmlType::Q8_0, 1, 32, &[0; 34]).unwrap();
        assert_eq!(w.decode_row(1, &mut [0.0; 32]), Err(RowError::NoSuchRow { row: 1, n: 1 }));
        assert_eq!(w.decode_row(0, &mut [0.0; 31]), Err(RowError::WrongLength { expected: 32, found: 31 }));
    }
}
