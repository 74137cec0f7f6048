//! RMS norms.

use super::sum;

/// `out[i] = x[i] / sqrt(mean(x²) + epsilon) * weight[i]`. The shortest of the three counts for the output.
#[inline(always)]
pub fn rms_norm(x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let scale = scale(x, epsilon);
    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
        *out = x * scale * weight;
    }
}

/// [`rms_norm`] in place.
#[inline(always)]
pub fn rms_norm_in_place(x: &mut [f32], weight: &[f32], epsilon: f32) {
    let scale = scale(x, epsilon);
    for (x, weight) in x.iter_mut().zip(weight) {
        *x = *x * scale * weight;
    }
}

#[inline(always)]
fn scale(x: &[f32], epsilon: f32) -> f32 {
    let mean = sum(x.len(), |i| x[i] * x[i]) / x.len() as f32;
    1.0 / libm::sqrtf(mean + epsilon)
}
