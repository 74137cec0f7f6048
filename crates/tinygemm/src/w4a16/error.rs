//! [`PackedError`].

use core::fmt;

/// Why codes were not packed, or bytes are no packed codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackedError {
    /// `n` is no multiple of 16.
    RaggedRows {
        /// Rows.
        n: usize,
    },
    /// `k` is odd.
    OddK {
        /// Codes of a row.
        k: usize,
    },
    /// `n * k` codes cannot be counted.
    TooLarge {
        /// Rows.
        n: usize,
        /// Codes of a row.
        k: usize,
    },
    /// The packed bytes, given or to be written, are not `n * k / 2`.
    PackedLength {
        /// Rows.
        n: usize,
        /// Codes of a row.
        k: usize,
        /// Bytes that they take.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The unpacked codes, given or to be written, are not `n * k`.
    CodesLength {
        /// Rows.
        n: usize,
        /// Codes of a row.
        k: usize,
        /// Codes there are.
        expected: usize,
        /// Codes given.
        found: usize,
    },
    /// The group is none of 32, 64, 128 and 256, or `k` is no multiple of it.
    Group {
        /// Codes of a row.
        k: usize,
        /// The group.
        group: usize,
    },
    /// The pairs of scale and zero are not `k / group * n`.
    ScalesLength {
        /// Rows.
        n: usize,
        /// Groups of a row.
        groups: usize,
        /// Pairs there are.
        expected: usize,
        /// Pairs given.
        found: usize,
    },
    /// A code has more than 4 bits.
    CodeOutOfRange {
        /// Its row, of `n`.
        row: usize,
        /// Its column, of `k`.
        column: usize,
        /// The code.
        code: u8,
    },
    /// Packed bytes without a tag are not what the weights beside them are in AVX-512's layout.
    OtherCode {
        /// The row of the first difference, of `n`.
        row: usize,
        /// Its column, of `k`.
        column: usize,
        /// The code of the weights.
        expected: u8,
        /// What is packed.
        found: u8,
    },
}

impl fmt::Display for PackedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RaggedRows { n } => write!(f, "int4pack: {n} rows are no multiple of 16"),
            Self::OddK { k } => write!(f, "int4pack: rows of {k} codes: k must be even"),
            Self::TooLarge { n, k } => write!(f, "int4pack: {n} rows of {k} codes cannot be addressed"),
            Self::PackedLength { n, k, expected, found } => {
                write!(f, "int4pack: {n} rows of {k} codes take {expected} packed bytes, found {found}")
            }
            Self::CodesLength { n, k, expected, found } => {
                write!(f, "int4pack: {n} rows of {k} codes are {expected} codes, found {found}")
            }
            Self::Group { k, group } => {
                write!(f, "int4pack: rows of {k} codes in groups of {group}: of 32, 64, 128 or 256, and a divisor of k")
            }
            Self::ScalesLength { n, groups, expected, found } => {
                write!(
                    f,
                    "int4pack: {n} rows of {groups} groups have {expected} pairs of scale and zero, found {found}"
                )
            }
            Self::CodeOutOfRange { row, column, code } => {
                write!(f, "int4pack: row {row}, column {column}: code {code} is above 15")
            }
            Self::OtherCode { row, column, expected, found } => {
                write!(
                    f,
                    "int4pack: not in AVX-512's layout: row {row}, column {column}: expected {expected}, found {found}"
                )
            }
        }
    }
}

impl core::error::Error for PackedError {}
