//! AWQ: codes and zero points in words along n, channels of a word interleaved.
//!
//! ```text
//! qweight i32 [K, N/8]        code of (k, n):   bits 4 * [0, 4, 1, 5, 2, 6, 3, 7][n % 8] of word [k][n / 8]
//! qzeros  i32 [K/group, N/8]  zero point of n:  the same bits of word [group][n / 8]
//! scales  f16 [K/group, N]    w = (code - zero) * scale
//! ```
//!
//! The form is that of AutoAWQ's version `gemm`.

use std::ops::Range;

use crate::tensor::Floats;
use crate::{CheckpointError, Tensor};

/// Which nibble of a word holds a channel.
const NIBBLE: [usize; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

/// Weights `w[n,k]` of an AWQ checkpoint, where they lie.
#[derive(Clone, Debug)]
pub struct Weights<'a> {
    n: usize,
    k: usize,
    group: usize,
    codes: &'a [[u8; 4]],
    zeros: &'a [[u8; 4]],
    scales: Floats<'a>,
}

impl<'a> Weights<'a> {
    /// Checks types and shapes of `qweight`, `qzeros` and `scales`.
    pub(crate) fn new(
        (n, k): (usize, usize),
        group: usize,
        [codes, zeros, scales]: [Tensor<'a>; 3],
    ) -> Result<Self, CheckpointError> {
        let scales = scales.shaped(&[k / group, n])?;
        Ok(Self {
            n,
            k,
            group,
            codes: codes.shaped(&[k, n / 8])?.words()?,
            zeros: zeros.shaped(&[k / group, n / 8])?.words()?,
            scales: Floats::of(&scales)?,
        })
    }

    /// Rows: output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Codes of a row: the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Codes of a row that share a scale and a zero point.
    #[must_use]
    pub const fn group(&self) -> usize {
        self.group
    }

    /// Bytes of codes, zero points and scales.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        size_of_val(self.codes) + size_of_val(self.zeros) + self.scales.bytes()
    }

    /// The codes of some rows, `k` of each.
    ///
    /// # Panics
    /// Where there are no such rows, or `out` is not as long.
    pub fn codes(&self, rows: Range<usize>, out: &mut [u8]) {
        assert!(rows.end <= self.n && out.len() == rows.len() * self.k, "rows {rows:?} of {}", self.n);
        for (i, words) in self.codes.chunks_exact((self.n / 8).max(1)).enumerate() {
            for (row, out) in rows.clone().zip(out.chunks_exact_mut(self.k)) {
                out[i] = nibble(words[row / 8], row);
            }
        }
    }

    /// The scale of row `n` in a group.
    ///
    /// # Panics
    /// Where there is no such row or group.
    #[must_use]
    pub fn scale(&self, n: usize, group: usize) -> f32 {
        assert!(n < self.n, "row {n} of {}", self.n);
        self.scales.get(group * self.n + n)
    }

    /// The zero point of row `n` in a group, 0 to 15.
    ///
    /// # Panics
    /// Where there is no such row or group.
    #[must_use]
    pub fn zero(&self, n: usize, group: usize) -> u8 {
        assert!(n < self.n, "row {n} of {}", self.n);
        nibble(self.zeros[group * (self.n / 8) + n / 8], n)
    }
}

fn nibble(word: [u8; 4], n: usize) -> u8 {
    (u32::from_le_bytes(word) >> (4 * NIBBLE[n % 8]) & 15) as u8
}

/// Packs codes (`n` rows of `k`, one to a byte) into words along n: the bytes of `qweight`, and of `qzeros` for zero points, `[n, groups]`.
///
/// # Panics
/// Where `codes` are not `n * k`, `n` is no multiple of 8, or a code is above 15: they are the caller's own.
#[must_use]
pub fn pack_codes(n: usize, k: usize, codes: &[u8]) -> Vec<u8> {
    assert!(codes.len() == n * k && n.is_multiple_of(8), "{} codes for [{n},{k}]", codes.len());
    assert!(codes.iter().all(|&code| code < 16), "a code above 15");
    let word = |i: usize| {
        let (column, first) = (i / (n / 8), i % (n / 8) * 8);
        (0..8).fold(0_u32, |word, j| word | u32::from(codes[(first + j) * k + column]) << (4 * NIBBLE[j]))
    };
    (0..k * (n / 8)).flat_map(|i| word(i).to_le_bytes()).collect()
}
