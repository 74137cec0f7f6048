//! Rotary embedding.

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
