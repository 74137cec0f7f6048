//! [`Acts`]: int8 activations with one scale a token.

use alloc::vec::Vec;
use core::ops::Range;

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

    /// Some of the tokens.
    ///
    /// # Panics
    /// Where `range` passes `m`.
    #[must_use]
    pub fn tokens(&self, range: Range<usize>) -> Self {
        let (k, sums) = (self.k, self.k.div_ceil(SUM));
        Self {
            m: range.len(),
            k,
            codes: &self.codes[range.start * k..range.end * k],
            scales: &self.scales[range.clone()],
            sums: &self.sums[range.start * sums..range.end * sums],
        }
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

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.codes[..]) + size_of_val(&self.scales[..]) + size_of_val(&self.sums[..])
    }

    /// Quantizes `m` tokens of `k` floats.
    ///
    /// By token: `amax = max(|x|, 1e-7)`, the scale is `amax / 127`, a code is `x * (127 / amax)` rounded to the nearest integer, halves
    /// to even. A token with an element that is not finite has the scale NaN and codes 0: it poisons its own results and no others.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] and [`LayoutError::Length`] where `x` is not `m * k` long.
    pub fn quantize(&mut self, m: usize, k: usize, x: &[f32]) -> Result<Acts<'_>, LayoutError> {
        self.quantize_by(m, k, x, |mut tokens| tokens.encode())
    }

    /// [`quantize`](Self::quantize) by `run`, which has to call [`TokensMut::encode`]: compiled for an instruction set, for example.
    ///
    /// # Errors
    /// As [`quantize`](Self::quantize).
    pub fn quantize_by(
        &mut self,
        m: usize,
        k: usize,
        x: &[f32],
        run: impl FnOnce(TokensMut<'_>),
    ) -> Result<Acts<'_>, LayoutError> {
        const FORMAT: &str = "int8 activations";
        let expected = m.checked_mul(k).ok_or(LayoutError::TooLarge { format: FORMAT, n: m, k })?;
        check_length(FORMAT, "elements", expected, x.len())?;
        let sums = m * k.div_ceil(SUM);
        self.codes.resize(self.codes.len().max(m * k), 0);
        self.scales.resize(self.scales.len().max(m), 0.0);
        self.sums.resize(self.sums.len().max(sums), 0);
        let (codes, scales, sums) = (&mut self.codes[..m * k], &mut self.scales[..m], &mut self.sums[..sums]);
        run(TokensMut { k, x, codes, scales, sums });
        Ok(Acts { m, k, codes, scales, sums })
    }
}

/// Tokens that are to be quantized.
#[derive(Debug)]
pub struct TokensMut<'a> {
    k: usize,
    x: &'a [f32],
    codes: &'a mut [i8],
    scales: &'a mut [f32],
    sums: &'a mut [i16],
}

impl TokensMut<'_> {
    /// Quantizes all of them.
    #[inline(always)]
    pub fn encode(&mut self) {
        let (k, sums) = (self.k, self.k.div_ceil(SUM));
        for (t, scale) in self.scales.iter_mut().enumerate() {
            let (x, codes) = (&self.x[t * k..][..k], &mut self.codes[t * k..][..k]);
            // Magnitudes have the order of their bits, and infinities and NaN are above all others.
            let largest = x.iter().fold(0, |largest, x| largest.max(x.abs().to_bits()));
            if f32::from_bits(largest).is_finite() {
                let amax = f32::from_bits(largest).max(1e-7);
                let inverse = 127.0 / amax;
                *scale = amax / 127.0;
                // Beside 1.5 * 2^23 a float's last bit is 1: adding rounds to the nearest integer, halves to even, and leaves its last bits
                // there. It is within 127 and a rounding error.
                codes.iter_mut().zip(x).for_each(|(code, x)| *code = (x * inverse + 12_582_912.0).to_bits() as i8);
            } else {
                *scale = f32::NAN;
                codes.fill(0);
            }
            for (sum, codes) in self.sums[t * sums..][..sums].iter_mut().zip(codes.chunks(SUM)) {
                *sum = codes.iter().map(|&code| i16::from(code)).sum();
            }
        }
    }
}
