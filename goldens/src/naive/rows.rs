//! Float row operations.

use std::ops::Range;

use super::half::f16_value;
use super::{exp, float_dot};

/// `Sum8`: eight partial sums, lane = index mod 8, and the reduction by halves.
fn sum8(len: usize, f: impl Fn(usize) -> f32) -> f32 {
    let mut p = [0.0; 8];
    for i in 0..len {
        p[i % 8] += f(i);
    }
    float_dot::reduce(p)
}

pub(crate) fn rms_norm(x: &[f32], w: &[f32], epsilon: f32) -> Vec<f32> {
    let mean = sum8(x.len(), |i| x[i] * x[i]) / x.len() as f32;
    let s = 1.0 / libm::sqrtf(mean + epsilon);
    (0..x.len()).map(|i| (x[i] * s) * w[i]).collect()
}

pub(crate) fn softmax(x: &[f32]) -> Vec<f32> {
    let mut max = f32::NEG_INFINITY;
    for &v in x {
        if v > max {
            max = v;
        }
    }
    let e: Vec<f32> = x.iter().map(|v| exp(v - max)).collect();
    let inverse = 1.0 / sum8(e.len(), |i| e[i]);
    e.iter().map(|e| e * inverse).collect()
}

pub(crate) fn silu_mul(gate: &[f32], up: &[f32]) -> Vec<f32> {
    gate.iter().zip(up).map(|(g, u)| (g / (1.0 + exp(-g))) * u).collect()
}

/// `2 * sqrt(2 / pi)` and that times 0.044715, to the nearest f32.
const GELU: (f32, f32) = (1.595_769_2, 0.071_354_814);

pub(crate) fn gelu_mul(gate: &[f32], up: &[f32]) -> Vec<f32> {
    let gelu = |g: f32| {
        let square = g * g;
        let w = g * (GELU.0 + (GELU.1 * square));
        g / (1.0 + exp(-w))
    };
    gate.iter().zip(up).map(|(&g, u)| gelu(g) * u).collect()
}

/// The experts, those of the largest softmax first, each with its weight.
pub(crate) fn route(logits: &[f32], count: usize, scale: f32) -> Vec<(usize, f32)> {
    let p = softmax(logits);
    let mut order: Vec<usize> = (0..p.len()).collect();
    // The sort is stable: equal ones, and NaN, stay in the order of their indices.
    order.sort_by(|&a, &b| p[b].partial_cmp(&p[a]).unwrap_or(std::cmp::Ordering::Equal));
    order.truncate(count);
    let total = sum8(count, |i| p[order[i]]);
    order.iter().map(|&expert| (expert, (p[expert] / total) * scale)).collect()
}

pub(crate) fn scale(x: &[f32], factor: f32) -> Vec<f32> {
    x.iter().map(|x| x * factor).collect()
}

pub(crate) fn add_scaled(x: &[f32], y: &[f32], factor: f32) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| x + (y * factor)).collect()
}

/// Cosine and sine of each pair's angle; no factors means that all are 1.
pub(crate) fn rope_angles(position: f32, base: f32, dims: usize, factors: &[f32]) -> Vec<(f32, f32)> {
    let angle = |i: usize| {
        let power = libm::pow(f64::from(base), -2.0 * i as f64 / dims as f64);
        let factor = if factors.is_empty() { 1.0 } else { f64::from(factors[i]) };
        f64::from(position) * power / factor
    };
    (0..dims / 2).map(|i| (libm::cos(angle(i)) as f32, libm::sin(angle(i)) as f32)).collect()
}

/// Rotates the pairs (2i, 2i + 1), or with `neox` (i, i + dims / 2), of the first `dims` elements.
pub(crate) fn rope(x: &[f32], angles: &[(f32, f32)], neox: bool) -> Vec<f32> {
    let mut y = x.to_vec();
    for (i, &(cos, sin)) in angles.iter().enumerate() {
        let (first, second) = if neox { (i, i + angles.len()) } else { (2 * i, 2 * i + 1) };
        let (a, b) = (x[first], x[second]);
        y[first] = a * cos - b * sin;
        y[second] = a * sin + b * cos;
    }
    y
}

/// Keys and values as binary16 bits, `stride` a position, of which a head's own start at `offset`.
#[derive(Clone, Copy)]
pub(crate) struct HeadRows<'a> {
    pub(crate) keys: &'a [u16],
    pub(crate) values: &'a [u16],
    pub(crate) stride: usize,
    pub(crate) offset: usize,
}

/// Positions of a block.
const BLOCK: usize = 64;

/// One query over the positions that it sees.
pub(crate) fn attention(q: &[f32], rows: HeadRows<'_>, scale: f32, seen: Range<usize>) -> Vec<f32> {
    let HeadRows { keys, values, stride, offset } = rows;
    let at = |t: usize, i: usize| t * stride + offset + i;
    let q: Vec<f32> = q.iter().map(|q| q * scale).collect();
    let score = |t| (0..q.len()).fold(0.0, |sum, i| sum + q[i] * f16_value(keys[at(t, i)]));
    let (mut max, mut p, mut y) = (f32::MIN, [0.0; 8], vec![0.0; q.len()]);
    for block in 0..seen.end.div_ceil(BLOCK) {
        let positions = seen.start.max(block * BLOCK)..seen.end.min((block + 1) * BLOCK);
        let scores: Vec<(usize, f32)> = positions.map(|t| (t, score(t))).collect();
        let before = max;
        for &(_, score) in &scores {
            if score > max {
                max = score;
            }
        }
        let factor = exp(before - max);
        p.iter_mut().chain(&mut y).for_each(|sum| *sum *= factor);
        for (t, score) in scores {
            let weight = exp(score - max);
            p[t % 8] += weight;
            for (i, y) in y.iter_mut().enumerate() {
                *y += weight * f16_value(values[at(t, i)]);
            }
        }
    }
    let inverse = 1.0 / float_dot::reduce(p);
    y.iter().map(|y| y * inverse).collect()
}
