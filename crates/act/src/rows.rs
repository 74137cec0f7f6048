//! [`ActRows`]: the checked view of activations.

use core::fmt;
use core::ops::Range;

use keepq_blocks::GgmlType;

use crate::ActError;

/// How activations are stored to meet a weight type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types, reason = "the field's names")]
pub enum ActFormat {
    /// As they are, for weights that are floats.
    F32,
    /// 32 int8 codes with an f32 scale (rounded to f16) and the integer sum of the codes.
    ///
    /// It serves the weights that ggml meets with Q8_0 and those it meets with Q8_1: the codes and the scale
    /// of the two are the same, and the integer sum takes the place of Q8_1's f16 sum.
    Q8_0,
    /// 256 int8 codes with an f32 scale and the integer sums of 16 codes each, for K-quants.
    Q8_K,
}

impl ActFormat {
    /// What weights of this type are multiplied by; `None` where there is no kernel.
    #[must_use]
    pub const fn for_weights(ty: GgmlType) -> Option<Self> {
        match ty {
            GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => Some(Self::F32),
            GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q5_0 | GgmlType::Q5_1 | GgmlType::Q8_0 => Some(Self::Q8_0),
            GgmlType::Q2_K | GgmlType::Q3_K | GgmlType::Q4_K | GgmlType::Q5_K | GgmlType::Q6_K => Some(Self::Q8_K),
            _ => None,
        }
    }

    /// Elements that share a scale.
    #[must_use]
    pub const fn block_len(self) -> usize {
        match self {
            Self::F32 => 1,
            Self::Q8_0 => 32,
            Self::Q8_K => 256,
        }
    }
}

impl fmt::Display for ActFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "F32",
            Self::Q8_0 => "Q8_0",
            Self::Q8_K => "Q8_K",
        })
    }
}

/// The elements of an [`ActRows`], typed: row after row.
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the field's names")]
pub enum Acts<'a> {
    /// Plain floats.
    F32(&'a [f32]),
    /// Codes, scales and sums of blocks of 32.
    Q8_0(Q8Rows<'a>),
    /// Codes, scales and sums of blocks of 256.
    Q8_K(Q8Rows<'a>),
}

/// Quantized activations in three parallel slices: codes and their sums in groups of 32, scales by block.
///
/// ```text
/// group g:  codes[g][0] … codes[g][31]     sums[g] = [codes[g][0] + … + codes[g][15], codes[g][16] + … + codes[g][31]]
/// block b:  one group (Q8_0) or eight (Q8_K), x ≈ scales[b] * code
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Q8Rows<'a> {
    /// Codes, -127 to 127.
    pub codes: &'a [[i8; 32]],
    /// Scales: for Q8_0 after rounding to f16.
    pub scales: &'a [f32],
    /// Sums of 16 codes each.
    pub sums: &'a [[i16; 2]],
}

impl Q8Rows<'_> {
    /// The view of some of the blocks, of `groups` groups each.
    ///
    /// # Panics
    /// Where `range` passes the blocks there are.
    #[inline(always)]
    #[must_use]
    pub fn blocks(&self, range: Range<usize>, groups: usize) -> Self {
        Self {
            codes: &self.codes[range.start * groups..range.end * groups],
            scales: &self.scales[range.clone()],
            sums: &self.sums[range.start * groups..range.end * groups],
        }
    }
}

/// Activations `x[m,k]`, ready for kernels: `m` tokens of `k` elements.
///
/// Made once, checked, by [`ActBuf`](crate::ActBuf) or, for floats as they are, by [`ActRows::f32`]. Copy it and
/// share it among all matrices that read the same `x`.
#[derive(Clone, Copy, Debug)]
pub struct ActRows<'a> {
    typed: Acts<'a>,
    m: usize,
    k: usize,
}

impl<'a> ActRows<'a> {
    /// Floats as they are, for weights that are floats.
    ///
    /// # Errors
    /// [`ActError::WrongLength`] where `x` is not `m * k` elements.
    pub fn f32(m: usize, k: usize, x: &'a [f32]) -> Result<Self, ActError> {
        check_length(m, k, x.len())?;
        Ok(Self { typed: Acts::F32(x), m, k })
    }

    /// `typed` holds `m` rows of `k` elements: only [`ActBuf`](crate::ActBuf) calls this.
    pub(crate) const fn new(typed: Acts<'a>, m: usize, k: usize) -> Self {
        Self { typed, m, k }
    }

    /// How the activations are stored.
    #[must_use]
    pub const fn format(&self) -> ActFormat {
        match self.typed {
            Acts::F32(_) => ActFormat::F32,
            Acts::Q8_0(_) => ActFormat::Q8_0,
            Acts::Q8_K(_) => ActFormat::Q8_K,
        }
    }

    /// Tokens.
    #[must_use]
    pub const fn m(&self) -> usize {
        self.m
    }

    /// Elements of a row: the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The elements, typed, for kernels.
    #[must_use]
    pub const fn typed(&self) -> Acts<'a> {
        self.typed
    }

    /// The view of some of the tokens.
    ///
    /// # Panics
    /// Where `range` passes `m`: it is the caller's arithmetic, not input.
    #[must_use]
    pub fn tokens(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.m, "tokens {range:?} of {}", self.m);
        let m = range.len();
        let blocks = |len: usize| range.start * (self.k / len)..range.end * (self.k / len);
        let typed = match self.typed {
            Acts::F32(x) => Acts::F32(&x[blocks(1)]),
            Acts::Q8_0(rows) => Acts::Q8_0(rows.blocks(blocks(32), 1)),
            Acts::Q8_K(rows) => Acts::Q8_K(rows.blocks(blocks(256), 8)),
        };
        Self { typed, m, k: self.k }
    }
}

/// `m * k`, where that many elements were given.
pub(crate) fn check_length(m: usize, k: usize, found: usize) -> Result<(), ActError> {
    let expected = m.checked_mul(k).ok_or(ActError::TooLarge { m, k })?;
    if found == expected { Ok(()) } else { Err(ActError::WrongLength { m, k, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_met_in_blocks_of_their_own_length() {
        use GgmlType::{BF16, F16, F32, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};
        for ty in [F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K] {
            assert_eq!(ActFormat::for_weights(ty).map(ActFormat::block_len), Some(ty.block_len()), "{ty}");
        }
        assert_eq!(ActFormat::for_weights(GgmlType::Q8_K), None, "it is what activations become, not weights");
    }
}
