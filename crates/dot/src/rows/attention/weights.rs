//! The online softmax: scores of a block become weights under the largest score so far.

use core::ops::Range;

use super::cache::EIGHTS;
use crate::math::exp_of_negative;
use crate::{LANES, Target};

/// Turns the scores that up to eight queries have at a block's positions into weights, raises `max` to the largest score of
/// each, and adds the weights to `sums`. Returns what was gathered under the former `max` is to be multiplied by: so are
/// `sums`.
///
/// Weights are those of the positions `seen`; others are left undefined.
#[inline(always)]
pub(super) fn weigh<T: Target>(
    target: T,
    scores: &mut [[[f32; LANES]; EIGHTS]],
    seen: &[Range<usize>; LANES],
    max: &mut [f32; LANES],
    sums: &mut [[f32; LANES]],
) -> [f32; LANES] {
    let mut largest = [target.splat(f32::NEG_INFINITY); LANES];
    for (r, scores) in scores.iter_mut().enumerate() {
        if seen[r].is_empty() {
            continue;
        }
        let flat = scores.as_flattened_mut();
        let lanes = lanes(&seen[r]);
        let (first, last) = (lanes.start * LANES, lanes.end * LANES);
        // Weights of what shares an eight with what is seen are 0, which adds nothing to sums.
        flat[first..seen[r].start].fill(f32::NEG_INFINITY);
        flat[seen[r].end..last].fill(f32::NEG_INFINITY);
        let mut eight = [f32::NEG_INFINITY; LANES];
        for scores in &scores[lanes] {
            eight = larger(*scores, eight);
        }
        largest[r] = target.load(&eight);
    }
    // A lane a query from here on.
    let before = *max;
    for lanes in target.transpose(largest) {
        let mut eight = [0.0; LANES];
        target.store(lanes, &mut eight);
        *max = larger(eight, *max);
    }
    let mut factors = [1.0; LANES];
    // As many as there are: the compiler unrolls eight and computes them one by one.
    for ((factor, before), max) in factors.iter_mut().zip(before).zip(max.iter()).take(sums.len()) {
        *factor = exp_of_negative(before - max);
    }

    for (r, (scores, sums)) in scores.iter_mut().zip(sums).enumerate() {
        let scores = &mut scores[lanes(&seen[r])];
        for score in scores.as_flattened_mut() {
            *score = exp_of_negative(*score - max[r]);
        }
        let mut total = target.mul(target.load(sums), target.splat(factors[r]));
        for eight in &*scores {
            total = target.add(total, target.load(eight));
        }
        target.store(total, sums);
    }
    factors
}

/// The eights of a block in which positions are seen.
#[inline(always)]
fn lanes(seen: &Range<usize>) -> Range<usize> {
    if seen.is_empty() { 0..0 } else { seen.start / LANES..seen.end.div_ceil(LANES) }
}

/// The larger of each two, which is never a NaN of `scores`.
#[inline(always)]
fn larger(scores: [f32; LANES], mut than: [f32; LANES]) -> [f32; LANES] {
    for lane in 0..LANES {
        than[lane] = if scores[lane] > than[lane] { scores[lane] } else { than[lane] };
    }
    than
}
