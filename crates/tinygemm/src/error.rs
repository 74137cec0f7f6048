//! [`LayoutError`].

use core::fmt;

/// Why bytes, scales or codes are no weights of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// `n` is no multiple of the rows of a block.
    RaggedRows {
        /// The format.
        format: &'static str,
        /// Rows.
        n: usize,
        /// Rows of a block.
        multiple: usize,
    },
    /// `k` is odd where codes lie in pairs.
    OddK {
        /// The format.
        format: &'static str,
        /// Codes of a row.
        k: usize,
    },
    /// The group is none of 32, 64, 128 and 256, or `k` is no multiple of it.
    Group {
        /// The format.
        format: &'static str,
        /// Codes of a row.
        k: usize,
        /// The group.
        group: usize,
    },
    /// `n` rows of `k` codes cannot be counted, or their sums leave 32 bits.
    TooLarge {
        /// The format.
        format: &'static str,
        /// Rows.
        n: usize,
        /// Codes of a row.
        k: usize,
    },
    /// A slice, given or to be written, has another length than the shape asks for.
    Length {
        /// The format.
        format: &'static str,
        /// What the slice holds.
        what: &'static str,
        /// Its length by the shape.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// A code has more than 4 bits.
    CodeOutOfRange {
        /// The format.
        format: &'static str,
        /// Its row, of `n`.
        row: usize,
        /// Its column, of `k`.
        column: usize,
        /// The code.
        code: u8,
    },
    /// A weight that is to be quantized is infinite or NaN.
    NotFinite {
        /// The format.
        format: &'static str,
        /// Its row, of `n`.
        row: usize,
        /// Its column, of `k`.
        column: usize,
    },
    /// A row's scale is negative, infinite or NaN.
    Scale {
        /// The format.
        format: &'static str,
        /// The row.
        row: usize,
    },
    /// The nibble that fills up the last byte of a row of odd length is not the code of zero.
    Pad {
        /// The format.
        format: &'static str,
        /// The row.
        row: usize,
        /// The nibble, which ought to be 8.
        found: u8,
    },
    /// A stored compensation is not the sum that it stands for.
    Compensation {
        /// The format.
        format: &'static str,
        /// Its row, of `n`.
        row: usize,
        /// Its block of k.
        block: usize,
        /// The sum of codes less zero points.
        expected: i32,
        /// What is stored.
        found: i32,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RaggedRows { format, n, multiple } => write!(f, "{format}: {n} rows are no multiple of {multiple}"),
            Self::OddK { format, k } => write!(f, "{format}: rows of {k} codes: k must be even"),
            Self::Group { format, k, group } => {
                write!(f, "{format}: rows of {k} codes in groups of {group}: of 32, 64, 128 or 256, and a divisor of k")
            }
            Self::TooLarge { format, n, k } => write!(f, "{format}: {n} rows of {k} codes are too many"),
            Self::Length { format, what, expected, found } => {
                write!(f, "{format}: {what}: expected {expected}, found {found}")
            }
            Self::CodeOutOfRange { format, row, column, code } => {
                write!(f, "{format}: row {row}, column {column}: code {code} is above 15")
            }
            Self::NotFinite { format, row, column } => {
                write!(f, "{format}: row {row}, column {column}: the weight is not finite")
            }
            Self::Scale { format, row } => write!(f, "{format}: row {row}: the scale is negative or not finite"),
            Self::Pad { format, row, found } => {
                write!(f, "{format}: row {row}: the nibble after the last code is {found}, expected 8")
            }
            Self::Compensation { format, row, block, expected, found } => {
                write!(f, "{format}: row {row}, block {block}: expected compensation {expected}, found {found}")
            }
        }
    }
}

impl core::error::Error for LayoutError {}

/// Groups that the formats know: codes of a row that share a scale.
pub const GROUPS: [usize; 4] = [32, 64, 128, 256];

/// Whether the formats know a group, and rows of `k` codes are whole groups of it.
#[must_use]
pub const fn is_group(k: usize, group: usize) -> bool {
    // The powers of two from the first to the last.
    group.is_power_of_two() && group >= GROUPS[0] && group <= GROUPS[3] && k.is_multiple_of(group)
}

/// Refuses a slice of another length than `expected`.
pub(crate) const fn check_length(
    format: &'static str,
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), LayoutError> {
    if found == expected { Ok(()) } else { Err(LayoutError::Length { format, what, expected, found }) }
}

/// The first code above 15, by its row and column.
pub(crate) fn check_codes(format: &'static str, k: usize, codes: &[u8]) -> Result<(), LayoutError> {
    match codes.iter().position(|&code| code > 15) {
        Some(at) => Err(LayoutError::CodeOutOfRange { format, row: at / k, column: at % k, code: codes[at] }),
        None => Ok(()),
    }
}
