//! Attention, and the softmax in it.

use keepq_blocks::F16;

use super::sum;
use crate::float::reduce;
use crate::{LANES, Target, exp};

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
                *score = product(target, q, key) * scale;
            }
            softmax(scores);
            out.fill(0.0);
            for (t, weight) in scores.iter().enumerate() {
                let value = &values[t * stride + offset..][..q.len()];
                add_scaled(target, out, value, *weight);
            }
        },
    );
}

/// `Σ q[i] * key[i]`, in the order of [`sum`].
#[inline(always)]
fn product<T: Target>(target: T, q: &[f32], key: &[F16]) -> f32 {
    let ((q, q_rest), (key, key_rest)) = (q.as_chunks(), key.as_chunks());
    let mut sums = target.splat(0.0);
    for (q, key) in q.iter().zip(key) {
        sums = target.add(sums, target.mul(target.load(q), target.widen_f16(*key)));
    }
    let mut partial = [0.0; LANES];
    target.store(sums, &mut partial);
    for ((partial, q), key) in partial.iter_mut().zip(q_rest).zip(key_rest) {
        *partial += q * key.to_f32();
    }
    reduce(partial)
}

/// `out[i] += weight * value[i]`.
#[inline(always)]
fn add_scaled<T: Target>(target: T, out: &mut [f32], value: &[F16], weight: f32) {
    let ((out, out_rest), (value, value_rest)) = (out.as_chunks_mut(), value.as_chunks());
    let weights = target.splat(weight);
    for (out, value) in out.iter_mut().zip(value) {
        let sum = target.add(target.load(out), target.mul(weights, target.widen_f16(*value)));
        target.store(sum, out);
    }
    for (out, value) in out_rest.iter_mut().zip(value_rest) {
        *out += weight * value.to_f32();
    }
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
