//! Attention, and the softmax in it.

use keepq_blocks::F16;

use super::sum;
use crate::{Target, exp};

/// Softmax in place: `e^(x - max) / Σ`. Of an empty row nothing; of one that is all -∞, NaN.
#[inline(always)]
pub fn softmax(x: &mut [f32]) {
    let max = x.iter().fold(f32::NEG_INFINITY, |max, &v| if v > max { v } else { max });
    for v in &mut *x {
        *v = exp(*v - max);
    }
    let inverse = 1.0 / sum(x.len(), |i| x[i]);
    for v in x {
        *v *= inverse;
    }
}

/// Attention of one query head over cached keys and values: `out = Σ_t softmax(scale * q · key_t)_t * value_t`.
///
/// `keys` and `values` hold a row of `stride` elements a position, of which the head's own start at `offset` and are
/// as many as `q`. `scores` has one element a position attended to, and is overwritten.
///
/// # Panics
/// Where the rows of `scores.len()` positions are not all there.
pub fn attention(
    target: impl Target,
    q: &[f32],
    cache: HeadCache<'_>,
    scale: f32,
    scores: &mut [f32],
    out: &mut [f32],
) {
    let HeadCache { keys, values, stride, offset } = cache;
    target.run(
        #[inline(always)]
        || {
            for (t, score) in scores.iter_mut().enumerate() {
                let key = &keys[t * stride + offset..][..q.len()];
                *score = sum(q.len(), |i| q[i] * key[i].to_f32()) * scale;
            }
            softmax(scores);
            out.fill(0.0);
            for (t, weight) in scores.iter().enumerate() {
                let value = &values[t * stride + offset..][..q.len()];
                for (out, value) in out.iter_mut().zip(value) {
                    *out += weight * value.to_f32();
                }
            }
        },
    );
}

/// The cached keys and values that one head reads.
#[derive(Clone, Copy, Debug)]
pub struct HeadCache<'a> {
    /// Keys, a row a position.
    pub keys: &'a [F16],
    /// Values, a row a position.
    pub values: &'a [F16],
    /// Elements of a row: all heads.
    pub stride: usize,
    /// Where the head's own elements start in a row.
    pub offset: usize,
}
