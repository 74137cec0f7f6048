//! [`Acts`]: int8 activations with one scale a token.

use alloc::vec::Vec;

use crate::LayoutError;
use crate::error::check_length;

/// Codes that one of [`Acts::sums`] adds up.
pub const SUM: usize = 32;

/// `m` tokens of `k` int8 codes, each token with its scale: `x[t][i]` is about `codes[t * k + i] * scales[t]`.
///
/// Codes are -127 to 127. Upstream stores them with 128 added and takes it away again by the weights' compensation;
/// here they keep their sign, and the integers are the same.
#[derive(Clone, Copy, Debug)]
pub struct Acts<'a> {
    m: usize,
    k: usize,
    codes: &'a [i8],
    scales: &'a [f32],
    sums: &'a [i16],
}

impl<'a> Acts<'a> {
    /// Tokens.
    #[must_use]
    pub const fn m(&self) -> usize {
        self.m
    }

    /// Codes of a token: the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The codes of token `t`.
    ///
    /// # Panics
    /// Where there is no such token.
    #[inline]
    #[must_use]
    pub fn codes(&self, t: usize) -> &'a [i8] {
        &self.codes[t * self.k..][..self.k]
    }

    /// The scale of token `t`.
    ///
    /// # Panics
    /// Where there is no such token.
    #[inline]
    #[must_use]
    pub fn scale(&self, t: usize) -> f32 {
        self.scales[t]
    }

    /// The sums of each [`SUM`] codes of token `t`, the last one of those that are left.
    ///
    /// # Panics
    /// Where there is no such token.
    #[inline]
    #[must_use]
    pub fn sums(&self, t: usize) -> &'a [i16] {
        let sums = self.k.div_ceil(SUM);
        &self.sums[t * sums..][..sums]
    }
}

/// Memory for [`Acts`], reused from call to call.
///
/// ```
/// use keepq_tinygemm::ActBuf;
///
/// let mut buffer = ActBuf::new();
/// let x = buffer.quantize(1, 4, &[1.0, -0.5, 0.25, 0.0])?;
/// assert_eq!((x.codes(0), x.scale(0)), (&[127, -64, 32, 0][..], 1.0 / 127.0));
/// assert_eq!(x.sums(0), [95]);
/// # Ok::<(), keepq_tinygemm::LayoutError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ActBuf {
    codes: Vec<i8>,
    scales: Vec<f32>,
    sums: Vec<i16>,
}

impl ActBuf {
    /// Memory for nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { codes: Vec::new(), scales: Vec::new(), sums: Vec::new() }
    }

    /// Quantizes `m` tokens of `k` floats.
    ///
    /// By token: `amax = max(|x|, 1e-7)`, the scale is `amax / 127`, a code is `x * (127 / amax)` rounded to the nearest integer, halves
    /// to even. A token with an element that is not finite has the scale NaN and codes 0: it poisons its own results and no others.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] and [`LayoutError::Length`] where `x` is not `m * k` long.
    pub fn quantize(&mut self, m: usize, k: usize, x: &[f32]) -> Result<Acts<'_>, LayoutError> {
        const FORMAT: &str = "int8 activations";
        let expected = m.checked_mul(k).ok_or(LayoutError::TooLarge { format: FORMAT, n: m, k })?;
        check_length(FORMAT, "elements", expected, x.len())?;
        self.codes.clear();
        self.scales.clear();
        self.sums.clear();
        for t in 0..m {
            let token = &x[t * k..][..k];
            let (amax, finite) =
                token.iter().fold((1e-7_f32, true), |(amax, finite), x| (amax.max(x.abs()), finite & x.is_finite()));
            let inverse = 127.0 / amax;
            self.scales.push(if finite { amax / 127.0 } else { f32::NAN });
            // Within 127 and a rounding error, so that the nearest integer is within 127.
            let code = |x: &f32| if finite { libm::rintf(x * inverse) as i8 } else { 0 };
            self.codes.extend(token.iter().map(code));
            let codes = &self.codes[t * k..];
            self.sums.extend(codes.chunks(SUM).map(|codes| codes.iter().map(|&code| i16::from(code)).sum::<i16>()));
        }
        Ok(Acts { m, k, codes: &self.codes, scales: &self.scales, sums: &self.sums })
    }
}
