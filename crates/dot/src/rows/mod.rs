//! Float row operations in fixed orders: norms, softmax, gated activations, rotary embedding, attention, routing.
//!
//! Sums over a row have eight partial sums, lane = index mod 8, reduced as those of float weights; multiply and add
//! round separately. All is plain f32 arithmetic, so that a token's bits are the same on every machine.

mod activation;
mod attention;
mod norm;
mod rope;
mod route;
mod softmax;

pub use activation::{gelu_mul, silu_mul};
pub use attention::{KvHead, KvLayout, Queries, attention, attention_memory, tokens_together};
pub use norm::{rms_norm, rms_norm_in_place};
pub use rope::{RopePairs, rope, rope_angles};
pub use route::{Chosen, route};
pub use softmax::softmax;

use crate::float::reduce;

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

/// `x[i] += y[i]`.
#[inline(always)]
pub fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// `x[i] += y[i] * factor`.
#[inline(always)]
pub fn add_scaled(x: &mut [f32], y: &[f32], factor: f32) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y * factor;
    }
}

/// `x[i] *= factor`.
#[inline(always)]
pub fn scale(x: &mut [f32], factor: f32) {
    for x in x {
        *x *= factor;
    }
}
