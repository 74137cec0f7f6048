//! The exponential function.

/// `e^x` in the steps of docs/NUMERICS.md.
pub(crate) fn exp(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    if x < -87.33654 {
        return 0.0;
    }
    if x > 88.72284 {
        return f32::INFINITY;
    }
    let magic = 1.5 * 2.0_f32.powi(23);
    let n = (x * std::f32::consts::LOG2_E + magic) - magic;
    // 355 / 512 is 0.693359375.
    let r = (x - n * (355.0 / 512.0)) - n * -2.121_944_4e-4;
    let mut p = 1.0 / 5040.0;
    for factorial in [720.0, 120.0, 24.0, 6.0, 2.0] {
        p = p * r + 1.0 / factorial;
    }
    p = (p * r) * r + r + 1.0;
    let n = n as i32;
    p * 2.0_f32.powi(n >> 1) * 2.0_f32.powi(n - (n >> 1))
}
