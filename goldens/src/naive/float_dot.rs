//! Dots of float weights.

/// Eight partial sums, lane = k mod 8, one fused step each; then the reduction by halves.
pub(super) fn dot(w: impl Iterator<Item = f32>, x: &[f32]) -> f32 {
    let mut p = [0.0; 8];
    for (k, w) in w.enumerate() {
        p[k % 8] = libm::fmaf(w, x[k], p[k % 8]);
    }
    reduce(p)
}

/// `((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7))`
pub(super) fn reduce(p: [f32; 8]) -> f32 {
    ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}

/// One a element of a lane, and three of the reduction.
pub(super) fn steps(k: usize) -> usize {
    k.div_ceil(8) + 3
}
