//! Activations of gated feed-forward blocks.

use crate::{Target, exp};

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

/// `gate[i] = gelu(gate[i]) * up[i]` with the tanh form `gelu(v) = v / 2 * (1 + tanh(sqrt(2 / π) * (v + 0.044715 v³)))`.
///
/// Computed as `v / (1 + e^-w)`, where `w` is twice the argument of tanh: the same number without a tanh.
pub fn gelu_mul(target: impl Target, gate: &mut [f32], up: &[f32]) {
    /// `2 * sqrt(2 / π)`.
    const LINEAR: f32 = 1.595_769_2;
    /// That times 0.044715.
    const CUBIC: f32 = 0.071_354_814;
    target.run(
        #[inline(always)]
        || {
            for (gate, up) in gate.iter_mut().zip(up) {
                let w = *gate * (LINEAR + CUBIC * (*gate * *gate));
                *gate = *gate / (1.0 + exp(-w)) * up;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Portable;

    #[test]
    fn gelu_is_its_tanh_form() {
        for step in -4000..=4000_i16 {
            let x = f32::from(step) / 250.0;
            let mut got = [x];
            gelu_mul(Portable, &mut got, &[1.0]);
            let v = f64::from(x);
            let tanh = libm::tanh((2.0 / core::f64::consts::PI).sqrt() * (v + 0.044_715 * v * v * v));
            let want = v / 2.0 * (1.0 + tanh);
            // Where tanh is all but -1 the reference itself has lost its digits.
            let tolerance = 8e-6 * want.abs() + 1e-15;
            assert!((f64::from(got[0]) - want).abs() <= tolerance, "gelu({x}) = {}, {want} expected", got[0]);
        }
    }
}
