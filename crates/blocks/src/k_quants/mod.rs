//! What the five K-quants share: bits in bytes, roundings, and the search for scales and minimums.
//!
//! A K-quant's block is a *super-block* of 256 elements: sub-blocks of 16 or 32 have small integer scales (and
//! minimums), which a float of the super-block scales in turn.

pub(crate) mod planes;
pub(crate) mod round;
pub(crate) mod six_bits;
pub(crate) mod with_min;

use core::ops::RangeInclusive;

use round::nearest_int;

/// Elements in a super-block.
pub(crate) const LEN: usize = 256;

/// Sub-blocks without a larger magnitude count as zero (ggml's `GROUP_MAX_EPS`).
pub(crate) const NEGLIGIBLE: f32 = 1e-15;

/// `element(j, code)` for every code, `j` being the index of its sub-block of `N`.
#[inline(always)]
pub(crate) fn decode<const N: usize>(codes: &[i8; LEN], element: impl Fn(usize, f32) -> f32) -> [f32; LEN] {
    let mut w = [0.0; LEN];
    let sub_blocks = w.as_chunks_mut::<N>().0.iter_mut().zip(codes.as_chunks::<N>().0);
    for (j, (w, codes)) in sub_blocks.enumerate() {
        for (w, &code) in w.iter_mut().zip(codes) {
            *w = element(j, f32::from(code));
        }
    }
    w
}

/// Replaces codes by those that are nearest under the scales as they were stored: `x + min = scale * code`.
///
/// `scale_and_min` are those of a sub-block of `N`. Where the scale became 0 any code decodes to the same, and the
/// old ones stay, as in ggml. Codes are stored less the smallest in `range`.
pub(crate) fn requantize<const N: usize>(
    codes: &mut [u8; LEN],
    x: &[f32; LEN],
    range: RangeInclusive<i32>,
    scale_and_min: impl Fn(usize) -> (f32, f32),
) {
    let sub_blocks = codes.as_chunks_mut::<N>().0.iter_mut().zip(x.as_chunks::<N>().0);
    for (j, (codes, x)) in sub_blocks.enumerate() {
        let (scale, min) = scale_and_min(j);
        if scale != 0.0 {
            *codes = x.map(|v| biased((v + min) / scale, &range));
        }
    }
}

/// `x` rounded, clamped to `range`, less the smallest in it.
pub(crate) fn biased(x: f32, range: &RangeInclusive<i32>) -> u8 {
    (nearest_int(x).clamp(*range.start(), *range.end()) - range.start()) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stay_where_the_scale_became_zero() {
        let mut codes = [9; LEN];
        requantize::<16>(&mut codes, &[-5.0; LEN], -4..=3, |j| (if j == 2 { 0.0 } else { 2.5 }, 0.0));
        assert_eq!((codes[31], codes[32], codes[47], codes[48]), (2, 9, 9, 2));
    }

    #[test]
    fn codes_are_clamped_and_biased() {
        let codes = [-1e6, -4.6, -4.0, 2.5, 3.5, 1e6].map(|x| biased(x, &(-4..=3)));
        assert_eq!(codes, [0, 0, 0, 6, 7, 7]);
    }
}
