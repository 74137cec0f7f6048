//! GPTQ: codes in words along k, zero points in words along n.
//!
//! ```text
//! qweight i32 [K/8, N]        code of (k, n):       bits 4 * (k % 8) of word [k / 8][n]
//! qzeros  i32 [K/group, N/8]  zero point of n:      bits 4 * (n % 8) of word [group][n / 8]
//! scales  f16 [K/group, N]    w = (code - zero) * scale
//! g_idx   i32 [K]             the group of channel k; where it is missing, k / group
//! ```
//!
//! The form is that of AutoGPTQ and its successors. How a zero point is stored is a matter of the label
//! ([`ZeroPoints`]); `g_idx` is in any order where channels were quantized by their activations ("act-order").

use std::ops::Range;

use crate::tensor::Floats;
use crate::{CheckpointError, Tensor, ZeroPoints};

/// Weights `w[n,k]` of a GPTQ checkpoint, where they lie.
#[derive(Clone, Debug)]
pub struct Weights<'a> {
    n: usize,
    k: usize,
    group: usize,
    codes: &'a [[u8; 4]],
    zeros: &'a [[u8; 4]],
    zero_points: ZeroPoints,
    scales: Floats<'a>,
    /// The group of each channel, where these are not in order.
    groups: Option<Vec<u32>>,
}

/// The tensors of a weight.
#[derive(Debug)]
pub(crate) struct Tensors<'a> {
    pub codes: Tensor<'a>,
    pub zeros: Tensor<'a>,
    pub scales: Tensor<'a>,
    pub groups: Option<Tensor<'a>>,
}

impl<'a> Weights<'a> {
    /// Checks types and shapes, and that each channel's group is there.
    pub(crate) fn new(
        (n, k): (usize, usize),
        group: usize,
        zero_points: ZeroPoints,
        tensors: Tensors<'a>,
    ) -> Result<Self, CheckpointError> {
        let groups = k / group;
        let Tensors { codes, zeros, scales, groups: of_channels } = tensors;
        let scales = scales.shaped(&[groups, n])?;
        Ok(Self {
            n,
            k,
            group,
            codes: codes.shaped(&[k / 8, n])?.words()?,
            zeros: zeros.shaped(&[groups, n / 8])?.words()?,
            zero_points,
            scales: Floats::of(&scales)?,
            groups: of_channels.map(|tensor| groups_of(&tensor.shaped(&[k])?, group, groups)).transpose()?.flatten(),
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

    /// Bytes of codes, zero points and scales, and of the groups of channels where these are in an order of their own.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let groups = self.groups.as_ref().map_or(0, |groups| size_of_val(&groups[..]));
        size_of_val(self.codes) + size_of_val(self.zeros) + self.scales.bytes() + groups
    }

    /// The group of channel `k`.
    ///
    /// # Panics
    /// Where there is no such channel.
    #[must_use]
    pub fn group_of(&self, k: usize) -> usize {
        assert!(k < self.k, "channel {k} of {}", self.k);
        self.groups.as_ref().map_or(k / self.group, |groups| groups[k] as usize)
    }

    /// The group of each channel, where these are not in order.
    pub(crate) fn groups(&self) -> Option<&[u32]> {
        self.groups.as_deref()
    }

    /// The codes of some rows, `k` of each, channels in the order of the model.
    ///
    /// # Panics
    /// Where there are no such rows, or `out` is not as long.
    pub fn codes(&self, rows: Range<usize>, out: &mut [u8]) {
        assert!(rows.end <= self.n && out.len() == rows.len() * self.k, "rows {rows:?} of {}", self.n);
        for (i, words) in self.codes.chunks_exact(self.n).enumerate() {
            for (word, out) in words[rows.clone()].iter().zip(out.chunks_exact_mut(self.k)) {
                let word = u32::from_le_bytes(*word);
                for (j, code) in out[8 * i..8 * i + 8].iter_mut().enumerate() {
                    *code = (word >> (4 * j) & 15) as u8;
                }
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
        let stored = self.stored_zero(n, group);
        match self.zero_points {
            ZeroPoints::AsTheyAre => stored,
            // Zero points are 0 to 15; that 0 is stored as 15 is how makers that mask their words write it.
            ZeroPoints::LessOne => (stored + 1) & 15,
        }
    }

    fn stored_zero(&self, n: usize, group: usize) -> u8 {
        let word = u32::from_le_bytes(self.zeros[group * (self.n / 8) + n / 8]);
        (word >> (4 * (n % 8)) & 15) as u8
    }

    /// The one value that all stored zero points have, if they have one.
    pub(crate) fn only_stored_zero(&self) -> Option<u8> {
        let first = u32::from_le_bytes(*self.zeros.first()?);
        let value = first & 15;
        self.zeros.iter().all(|word| u32::from_le_bytes(*word) == value * 0x1111_1111).then_some(value as u8)
    }
}

/// The group of each channel; `None` where these are in order.
fn groups_of(tensor: &Tensor<'_>, group: usize, groups: usize) -> Result<Option<Vec<u32>>, CheckpointError> {
    let of_channels = tensor.words()?.iter().map(|word| i32::from_le_bytes(*word));
    let mut checked = Vec::with_capacity(of_channels.len());
    for (channel, found) in of_channels.enumerate() {
        match u32::try_from(found) {
            Ok(index) if (index as usize) < groups => checked.push(index),
            _ => {
                let tensor = tensor.name().to_owned();
                return Err(CheckpointError::GroupIndex { tensor, channel, found, groups });
            }
        }
    }
    let in_order = checked.iter().enumerate().all(|(channel, &index)| channel / group == index as usize);
    Ok((!in_order).then_some(checked))
}

/// Packs codes (`n` rows of `k`, one to a byte) into words along k: the bytes of `qweight`.
///
/// # Panics
/// Where `codes` are not `n * k`, `k` is no multiple of 8, or a code is above 15: they are the caller's own.
#[must_use]
pub fn pack_codes(n: usize, k: usize, codes: &[u8]) -> Vec<u8> {
    assert!(codes.len() == n * k && k.is_multiple_of(8), "{} codes for [{n},{k}]", codes.len());
    let word = |i: usize| pack_word(|j| codes[i % n * k + i / n * 8 + j]);
    (0..k / 8 * n).flat_map(|i| word(i).to_le_bytes()).collect()
}

/// Packs zero points (`[n, groups]`) into words along n, as `zero_points` has them: the bytes of `qzeros`.
///
/// # Panics
/// Where `n` is no multiple of 8, `zeros` are not so many for each row, or one is above 15.
#[must_use]
pub fn pack_zeros(n: usize, zeros: &[u8], zero_points: ZeroPoints) -> Vec<u8> {
    assert!(n.is_multiple_of(8) && zeros.len().is_multiple_of(n.max(1)), "{} zero points, {n} rows", zeros.len());
    let groups = zeros.len() / n.max(1);
    let stored = |zero: u8| match zero_points {
        ZeroPoints::AsTheyAre => zero,
        ZeroPoints::LessOne => zero.wrapping_sub(1) & 15,
    };
    let word = |i: usize| pack_word(|j| stored(zeros[(i % (n / 8) * 8 + j) * groups + i / (n / 8)]));
    (0..groups * (n / 8)).flat_map(|i| word(i).to_le_bytes()).collect()
}

fn pack_word(code: impl Fn(usize) -> u8) -> u32 {
    (0..8).fold(0, |word, j| {
        let code = code(j);
        assert!(code < 16, "code {code}");
        word | u32::from(code) << (4 * j)
    })
}
