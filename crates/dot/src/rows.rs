//! Float row operations in fixed orders: norms, softmax, gated activation, rotary embedding, attention.
//!
//! Sums over a row have eight partial sums, lane = index mod 8, reduced as those of float weights; multiply and add
//! round separately. All is plain f32 arithmetic, so that a token's bits are the same on every machine.

use keepq_blocks::F16;

use crate::float::reduce;
use crate::{Target, exp};

/// `Σ f(i)` over `0..len` in the fixed order.
#[inline(always)]
fn sum(len: usize, f: impl Fn(usize) -> f32) -> f32 {
    let mut partial = [0.0_f32; 8];
    let whole = len / 8 * 8;
    for i in (0..whole).step_by(8) {
        for (lane, partial) in partial.iter_mut().enumerate() {
            *partial += f(i + lane);
        }
    }
    for i in whole..len {
        partial[i - whole] += f(i);
    }
    reduce(partial)
}

/// `out[i] = x[i] / sqrt(mean(x²) + epsilon) * weight[i]`. The shortest of the three counts for the output.
#[inline(always)]
pub fn rms_norm(x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let mean = sum(x.len(), |i| x[i] * x[i]) / x.len() as f32;
    let scale = 1.0 / libm::sqrtf(mean + epsilon);
    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
        *out = x * scale * weight;
    }
}

/// `x[i] += y[i]`.
#[inline(always)]
pub fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// `gate[i] = silu(gate[i]) * up[i]` with `silu(v) = v / (1 + e^-v)`.
pub fn silu_mul(target: impl Target, gate: &mut [f32], up: &[f32]) {
    target.run(
        #[inline(always)]
        || {
            for (gate, up) in gate.iter_mut().zip(up) {
                *gate = *gate / (1.0 + exp(-*gate)) * up;
            }
        },
    );
}

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

/// How rotary embedding pairs the elements of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopePairs {
    /// (0, 1), (2, 3), …: the original layout, and what GGUF's `llama` architecture is stored for.
    Interleaved,
    /// (0, half), (1, half + 1), …: GPT-NeoX's.
    Neox,
}

/// Rotates the pairs of the first `2 * angles.len()` elements of `head`; the rest stays.
///
/// `angles` holds (cos, sin) of each pair at the token's position.
#[inline(always)]
pub fn rope(head: &mut [f32], angles: &[(f32, f32)], pairs: RopePairs) {
    match pairs {
        RopePairs::Interleaved => {
            for (pair, &(cos, sin)) in head.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
                *pair = rotate(*pair, cos, sin);
            }
        }
        RopePairs::Neox => {
            let half = angles.len().min(head.len() / 2);
            let (low, high) = head.split_at_mut(half);
            for ((a, b), &(cos, sin)) in low.iter_mut().zip(high).zip(angles) {
                [*a, *b] = rotate([*a, *b], cos, sin);
            }
        }
    }
}

#[inline(always)]
fn rotate([a, b]: [f32; 2], cos: f32, sin: f32) -> [f32; 2] {
    [a * cos - b * sin, a * sin + b * cos]
}

/// (cos, sin) of `position * base^(-2 i / dimensions) / factors[i]` for each pair `i`, rounded once from f64.
///
/// `factors` (GGUF: `rope_freqs.weight`) is empty, or one number a pair. Fills `out`, one entry a pair.
pub fn rope_angles(position: f32, base: f32, dimensions: usize, factors: &[f32], out: &mut [(f32, f32)]) {
    for (i, out) in out.iter_mut().enumerate() {
        let exponent = -2.0 * i as f64 / dimensions as f64;
        let factor = factors.get(i).copied().unwrap_or(1.0);
        let angle = f64::from(position) * libm::pow(f64::from(base), exponent) / f64::from(factor);
        *out = (libm::cos(angle) as f32, libm::sin(angle) as f32);
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
