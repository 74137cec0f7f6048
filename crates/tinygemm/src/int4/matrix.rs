//! [`QuantizedMatrixQ4`].

use alloc::vec;
use alloc::vec::Vec;

use super::{BIAS, FORMAT, MAX_K};
use crate::LayoutError;
use crate::error::check_length;

/// Weights `w[n,k]` of one scale a row; the [module](super) has a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedMatrixQ4 {
    n: usize,
    k: usize,
    codes: Vec<u8>,
    scales: Vec<f32>,
}

impl QuantizedMatrixQ4 {
    /// Quantizes `n` rows of `k` floats.
    ///
    /// By row: the scale is `amax / 7`, a level is `w / scale` rounded to the nearest integer, halves to even, and cut to -7 … 7. Where
    /// `1 / scale` is not finite, which is so for a row of zeros and for `amax` below about 2e-38, the scale is 0 and all levels are 0.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] where k is above [`MAX_K`], [`LayoutError::Length`] where `w` is not `n * k` long,
    /// [`LayoutError::NotFinite`] for the first weight that is infinite or NaN.
    pub fn quantize(n: usize, k: usize, w: &[f32]) -> Result<Self, LayoutError> {
        let row_bytes = shape(n, k)?;
        check_length(FORMAT, "weights", n * k, w.len())?;
        if let Some(at) = w.iter().position(|w| !w.is_finite()) {
            return Err(LayoutError::NotFinite { format: FORMAT, row: at / k, column: at % k });
        }
        let mut codes = vec![0; n * row_bytes];
        let mut scales = vec![0.0; n];
        for (r, scale) in scales.iter_mut().enumerate() {
            let row = &w[r * k..][..k];
            let amax = row.iter().fold(0.0_f32, |amax, w| amax.max(w.abs()));
            *scale = amax / 7.0;
            if !(1.0 / *scale).is_finite() {
                *scale = 0.0;
            }
            let code = |w: f32| {
                let level = if *scale == 0.0 { 0.0 } else { libm::rintf(w / *scale).clamp(-7.0, 7.0) };
                (level as i32 + BIAS) as u8
            };
            for (byte, two) in codes[r * row_bytes..][..row_bytes].iter_mut().zip(row.chunks(2)) {
                *byte = code(two[0]) | two.get(1).map_or(BIAS as u8, |&w| code(w)) << 4;
            }
        }
        Ok(Self { n, k, codes, scales })
    }

    /// A matrix of bytes and scales from elsewhere.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] where k is above [`MAX_K`], [`LayoutError::Length`] of codes or scales; by the first row of which it is so,
    /// [`LayoutError::Scale`] where a scale is negative, infinite or NaN, [`LayoutError::Pad`] where the nibble after the last code is not 8.
    pub fn from_parts(n: usize, k: usize, codes: Vec<u8>, scales: Vec<f32>) -> Result<Self, LayoutError> {
        let row_bytes = shape(n, k)?;
        check_length(FORMAT, "bytes of codes", n * row_bytes, codes.len())?;
        check_length(FORMAT, "scales", n, scales.len())?;
        for (row, &scale) in scales.iter().enumerate() {
            if !(scale >= 0.0 && scale.is_finite()) {
                return Err(LayoutError::Scale { format: FORMAT, row });
            }
            if k % 2 == 1 {
                let found = codes[row * row_bytes + row_bytes - 1] >> 4;
                if i32::from(found) != BIAS {
                    return Err(LayoutError::Pad { format: FORMAT, row, found });
                }
            }
        }
        Ok(Self { n, k, codes, scales })
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

    /// Bytes of codes and scales: all that the weights take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.codes.len() + size_of_val(&*self.scales)
    }

    /// The bytes and the scale of row `n`; `None` where there is no such row.
    #[must_use]
    pub fn row(&self, n: usize) -> Option<(&[u8], f32)> {
        let (scale, row_bytes) = (*self.scales.get(n)?, self.k.div_ceil(2));
        Some((&self.codes[n * row_bytes..][..row_bytes], scale))
    }

    /// The level at `w[n,k]`, -8 to 7; `None` where there is no such row or column.
    #[must_use]
    pub fn level(&self, n: usize, k: usize) -> Option<i8> {
        let byte = self.row(n)?.0.get(k / 2).filter(|_| k < self.k)?;
        Some((byte >> (k % 2 * 4) & 15).cast_signed() - BIAS as i8)
    }
}

/// Bytes of a row, where `n` rows of `k` codes can be counted.
fn shape(n: usize, k: usize) -> Result<usize, LayoutError> {
    if k > MAX_K || n.checked_mul(k).is_none() {
        return Err(LayoutError::TooLarge { format: FORMAT, n, k });
    }
    Ok(k.div_ceil(2))
}
