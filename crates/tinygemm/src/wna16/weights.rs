//! [`Weights`]: words, scales and zero points; their product with activations.

use half::bf16;

use super::{FORMAT, ROWS};
use crate::error::{check_codes, check_length, is_group};
use crate::{LayoutError, SLAB_HALF, Slab};

/// The zero points of [`Weights`].
#[derive(Clone, Copy, Debug)]
pub enum Zeros<'a> {
    /// 8 everywhere.
    Eight,
    /// `[k / group][n / 8]`, eight nibbles to a word.
    Packed(&'a [i32]),
}

/// Weights `w[n,k]` in words of sixteen rows; the [module](super) has a picture.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    n: usize,
    k: usize,
    group: usize,
    words: &'a [[u8; 8]],
    scales: &'a [bf16],
    zeros: Zeros<'a>,
}

impl<'a> Weights<'a> {
    /// A view of words, scales and zero points.
    ///
    /// # Errors
    /// [`LayoutError::RaggedRows`] where `n` is no multiple of 16, [`LayoutError::Group`], [`LayoutError::TooLarge`], and [`LayoutError::Length`] of the
    /// first slice that is not as the shape asks for.
    pub fn new(
        (n, k): (usize, usize),
        group: usize,
        words: &'a [u8],
        scales: &'a [bf16],
        zeros: Zeros<'a>,
    ) -> Result<Self, LayoutError> {
        if !is_group(k, group) {
            return Err(LayoutError::Group { format: FORMAT, k, group });
        }
        check_length(FORMAT, "bytes of words", word_bytes(n, k)?, words.len())?;
        check_length(FORMAT, "scales", k / group * n, scales.len())?;
        if let Zeros::Packed(zeros) = zeros {
            check_length(FORMAT, "words of zero points", k / group * (n / 8), zeros.len())?;
        }
        Ok(Self { n, k, group, words: words.as_chunks().0, scales, zeros })
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

    /// Bytes of words, scales and zero points: all that the weights take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        let zeros = match self.zeros {
            Zeros::Eight => 0,
            Zeros::Packed(zeros) => size_of_val(zeros),
        };
        size_of_val(self.words) + size_of_val(self.scales) + zeros
    }

    /// The scales of group `g`, a row each.
    ///
    /// # Panics
    /// Where there is no such group.
    #[must_use]
    pub fn scales(&self, g: usize) -> &'a [bf16] {
        &self.scales[g * self.n..][..self.n]
    }

    /// The slabs of rows `first` to `end`, which begin and end words: two words of each column, or the last one.
    ///
    /// # Panics
    /// Where these are not so many rows, or begin or end no word.
    pub fn slabs(&self, first: usize, end: usize) -> impl Iterator<Item = Slab<'a>> + use<'a> {
        assert!(first.is_multiple_of(ROWS) && end.is_multiple_of(ROWS), "rows {first} to {end}: not of whole words");
        assert!(first <= end && end <= self.n, "rows {first} to {end} of {}", self.n);
        let (words, k) = (self.words, self.k);
        let of_word = move |row: usize| if row < end { words[row / ROWS * k..][..k].as_flattened() } else { &[] };
        (first..end).step_by(2 * SLAB_HALF).map(move |row| Slab {
            bytes: [of_word(row), of_word(row + ROWS)],
            stride: ROWS / 2,
            first: [row, row + 1],
            step: 2,
            width: SLAB_HALF.min((end - row) / 2),
        })
    }

    /// The code at `w[n,k]`; `None` where there is no such row or column.
    #[must_use]
    pub fn code(&self, n: usize, k: usize) -> Option<u8> {
        (n < self.n && k < self.k).then(|| {
            let word = u64::from_le_bytes(self.words[n / ROWS * self.k + k]);
            (word >> (n % ROWS * 4) & 15) as u8
        })
    }

    /// The zero point at `w[n,k]`; `None` where there is no such row or column.
    #[must_use]
    pub fn zero(&self, n: usize, k: usize) -> Option<u8> {
        (n < self.n && k < self.k).then(|| match self.zeros {
            Zeros::Eight => 8,
            Zeros::Packed(zeros) => (zeros[k / self.group * (self.n / 8) + n / 8] >> (n % 8 * 4) & 15) as u8,
        })
    }

    /// The weight `w[n,k]`: `(code - zero) * scale`, rounded to bf16; `None` where there is no such row or column.
    #[must_use]
    pub fn weight(&self, n: usize, k: usize) -> Option<bf16> {
        let level = f32::from(self.code(n, k)?) - f32::from(self.zero(n, k)?);
        Some(bf16::from_f32(level * self.scales[k / self.group * self.n + n].to_f32()))
    }

    /// `y[t * n + r]`: all tokens by all rows, overwritten; the definition of a result before it is rounded to bf16.
    ///
    /// One sum an output, from +0, k ascending, `y = fma(x, w, y)`. `x` are `m` tokens of `k` activations.
    ///
    /// # Panics
    /// Where `x` is not `m * k` and `y` not `m * n` long for any m.
    pub fn multiply(&self, x: &[f32], y: &mut [f32]) {
        let (n, k) = (self.n, self.k);
        assert!(x.len() * n == y.len() * k, "x and y are of one m: {} and {} for [{n},{k}]", x.len(), y.len());
        y.fill(0.0);
        for r in 0..n {
            for i in 0..k {
                let Some(weight) = self.weight(r, i) else { continue };
                for (x, y) in x.chunks_exact(k).zip(y.chunks_exact_mut(n)) {
                    y[r] = libm::fmaf(x[i], weight.to_f32(), y[r]);
                }
            }
        }
    }
}

/// Packs `codes` (`n` rows of `k`, one to a byte) into the bytes of words.
///
/// # Errors
/// [`LayoutError::RaggedRows`], [`LayoutError::TooLarge`], [`LayoutError::Length`] of codes or words, [`LayoutError::CodeOutOfRange`] for the
/// first code above 15. Nothing is written where an error is returned.
pub fn pack(n: usize, k: usize, codes: &[u8], words: &mut [u8]) -> Result<(), LayoutError> {
    check_length(FORMAT, "bytes of words", word_bytes(n, k)?, words.len())?;
    check_length(FORMAT, "codes", n * k, codes.len())?;
    check_codes(FORMAT, k, codes)?;
    for (at, word) in words.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let (first, column) = (at / k * ROWS, at % k);
        let nibbles = (0..ROWS).map(|i| u64::from(codes[(first + i) * k + column]) << (4 * i));
        *word = nibbles.fold(0, |word, nibble| word | nibble).to_le_bytes();
    }
    Ok(())
}

/// Bytes of the words of `n` rows of `k` codes.
fn word_bytes(n: usize, k: usize) -> Result<usize, LayoutError> {
    if !n.is_multiple_of(ROWS) {
        return Err(LayoutError::RaggedRows { format: FORMAT, n, multiple: ROWS });
    }
    Ok(n.checked_mul(k).ok_or(LayoutError::TooLarge { format: FORMAT, n, k })? / 2)
}
