//! The encoders' search for scales and minimums: Q2_K, Q4_K, Q5_K.
//!
//! An element is `scale * code - min`. For each sub-block candidates of the scale are tried; each gives codes, and these
//! a scale and a minimum by weighted least squares; the candidate with the smallest weighted error wins. The scales and
//! minimums of all sub-blocks are then rounded to fractions of the largest. Every sum is sequential and in f32: the
//! order of the operations decides which candidate wins, and so the bytes.

use super::round::{nearest_int, sqrt};
use super::{LEN, requantize, six_bits};
use crate::F16;

/// From one candidate to the next, `max_code` changes by so much.
const STEP: f32 = 0.1;

/// What a type searches for.
///
/// A constant of the type: the search is inlined into each encoder, so that `error` is known there. Called through the
/// pointer, Q4_K takes 24 µs for a super-block in place of 15 (ggml: 15).
pub(crate) struct Search {
    /// The largest code.
    pub(crate) max_code: u8,
    /// The first candidate of the inverse scale is `(max_code + first) / (max - min)`.
    pub(crate) first: f32,
    /// Candidates after the first one.
    pub(crate) steps: u8,
    /// An element's share of the error, from the difference, before it is weighted.
    pub(crate) error: fn(f32) -> f32,
}

/// The result of a search, for a super-block of `SUBS` sub-blocks.
pub(crate) struct Fits<const SUBS: usize> {
    pub(crate) scales: [f32; SUBS],
    /// To be subtracted, and so not below 0.
    pub(crate) mins: [f32; SUBS],
    pub(crate) codes: [u8; LEN],
}

/// Codes of a sub-block, and the scale and minimum (to be added) that go with them.
#[derive(Clone, Copy)]
struct Fit<const N: usize> {
    scale: f32,
    min: f32,
    codes: [i32; N],
}

/// A sub-block with the weights of its elements and the sums that all candidates need.
struct Weighted<'a, const N: usize> {
    x: &'a [f32; N],
    weights: [f32; N],
    sum_w: f32,
    sum_wx: f32,
}

impl Search {
    /// Scale, minimum and codes of every sub-block of `N`, with the weights that `weights` gives its elements.
    #[inline(always)]
    pub(crate) fn fit<const N: usize, const SUBS: usize>(
        &self,
        x: &[f32; LEN],
        weights: impl Fn(&[f32; N]) -> [f32; N],
    ) -> Fits<SUBS> {
        const { assert!(N * SUBS == LEN) }
        let mut fits = Fits { scales: [0.0; SUBS], mins: [0.0; SUBS], codes: [0; LEN] };
        let codes = fits.codes.as_chunks_mut::<N>().0;
        for (j, (x, codes)) in x.as_chunks::<N>().0.iter().zip(codes).enumerate() {
            let fit = self.fit_sub_block(&Weighted::new(x, weights(x)));
            fits.scales[j] = fit.scale;
            fits.mins[j] = -fit.min;
            *codes = fit.codes.map(|code| code as u8);
        }
        fits
    }

    #[inline(always)]
    fn fit_sub_block<const N: usize>(&self, sub_block: &Weighted<N>) -> Fit<N> {
        // The minimum is not above 0: a sub-block of positive elements is scaled from 0 on.
        let min = sub_block.x.iter().fold(0.0, |min, &v| if v < min { v } else { min });
        let max = sub_block.x.iter().fold(f32::MIN, |max, &v| if v > max { v } else { max });
        if max == min {
            return Fit { scale: 0.0, min, codes: [0; N] };
        }
        let max_code = f32::from(self.max_code);
        let inverse = max_code / (max - min);
        let mut best = Fit { scale: 1.0 / inverse, min, codes: self.codes(sub_block.x, inverse, min) };
        let mut best_error = self.error(sub_block, &best);
        for step in 0..=self.steps {
            // The minimum is the best one so far, not the smallest element.
            let inverse = (self.first + STEP * f32::from(step) + max_code) / (max - best.min);
            let codes = self.codes(sub_block.x, inverse, best.min);
            let Some(fit) = sub_block.least_squares(codes) else { continue };
            let error = self.error(sub_block, &fit);
            if error < best_error {
                (best, best_error) = (fit, error);
            }
        }
        best
    }

    fn codes<const N: usize>(&self, x: &[f32; N], inverse: f32, min: f32) -> [i32; N] {
        x.map(|v| nearest_int(inverse * (v - min)).clamp(0, i32::from(self.max_code)))
    }

    fn error<const N: usize>(&self, sub_block: &Weighted<N>, fit: &Fit<N>) -> f32 {
        let elements = sub_block.x.iter().zip(&sub_block.weights).zip(&fit.codes);
        elements.fold(0.0, |sum, ((v, w), &code)| {
            let decoded = fit.scale * code as f32 + fit.min;
            sum + w * (self.error)(decoded - v)
        })
    }
}

impl<'a, const N: usize> Weighted<'a, N> {
    fn new(x: &'a [f32; N], weights: [f32; N]) -> Self {
        let (sum_w, sum_wx) =
            x.iter().zip(&weights).fold((0.0, 0.0), |(sum_w, sum_wx), (v, w)| (sum_w + w, sum_wx + w * v));
        Self { x, weights, sum_w, sum_wx }
    }

    /// The scale and minimum with the smallest squared error for these codes; `None` where they do not determine it.
    fn least_squares(&self, codes: [i32; N]) -> Option<Fit<N>> {
        let (mut sum_wl, mut sum_wll, mut sum_wlx) = (0.0, 0.0, 0.0);
        for ((v, w), &code) in self.x.iter().zip(&self.weights).zip(&codes) {
            let code = code as f32;
            sum_wl += w * code;
            sum_wll += w * code * code;
            sum_wlx += w * code * v;
        }
        let determinant = self.sum_w * sum_wll - sum_wl * sum_wl;
        if determinant > 0.0 {
            let min = (sum_wll * self.sum_wx - sum_wl * sum_wlx) / determinant;
            Some(if min > 0.0 {
                Fit { scale: sum_wlx / sum_wll, min: 0.0, codes }
            } else {
                Fit { scale: (self.sum_w * sum_wlx - self.sum_wx * sum_wl) / determinant, min, codes }
            })
        } else {
            None
        }
    }
}

/// The float that scales `values` when they are rounded to `levels` fractions of the largest, and their integers.
///
/// Integers are those of ggml before it stores them, so that a type can cut or clamp them as it does.
pub(crate) fn to_levels<const SUBS: usize>(values: &[f32; SUBS], levels: f32) -> (F16, [i32; SUBS]) {
    let max = values.iter().fold(0.0, |max, &v| if v > max { v } else { max });
    let inverse = if max > 0.0 { levels / max } else { 0.0 };
    (F16::from_f32(max / levels), values.map(|v| nearest_int(inverse * v)))
}

/// What Q4_K and Q5_K store, but for the codes' bits.
pub(crate) struct SixBitSuperBlock {
    pub(crate) d: F16,
    pub(crate) dmin: F16,
    pub(crate) scales: [u8; 12],
    pub(crate) codes: [u8; LEN],
}

/// A super-block whose eight sub-blocks have scales and minimums of six bits.
#[inline(always)]
pub(crate) fn encode_six_bits(x: &[f32; LEN], search: &Search) -> SixBitSuperBlock {
    let Fits { scales, mins, mut codes } = search.fit::<32, 8>(x, |x| {
        let mean_square = x.iter().fold(0.0, |sum, v| sum + v * v) / 32.0;
        let typical = sqrt(mean_square);
        x.map(|v| typical + v.abs())
    });
    let (d, scales) = to_levels(&scales, 63.0);
    let (dmin, mins) = to_levels(&mins, 63.0);
    // ggml cuts to a byte before it clamps.
    let [scales, mins] = [scales, mins].map(|values| values.map(|v| (v as u8).min(63)));
    let (d32, dmin32) = (d.to_f32(), dmin.to_f32());
    requantize::<32>(&mut codes, x, 0..=i32::from(search.max_code), |j| {
        (d32 * f32::from(scales[j]), dmin32 * f32::from(mins[j]))
    });
    SixBitSuperBlock { d, dmin, scales: six_bits::pack(scales, mins), codes }
}
