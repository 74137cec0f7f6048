//! Products with int8 activations.

use super::{BIAS, QuantizedMatrixQ4};
use crate::Acts;

/// The exact dot of int8 activations and the levels of a row: `Σ x * nibble - 8 * Σ x`.
///
/// `row` is a row's bytes, `x.len()` codes two to a byte, low nibble first.
///
/// # Panics
/// Where `row` is not `x.len() / 2` bytes, rounded up, or `x` is longer than [`MAX_K`](super::MAX_K).
#[must_use]
pub fn dot_i32_q4(x: &[i8], row: &[u8]) -> i32 {
    assert!(row.len() == x.len().div_ceil(2) && x.len() <= super::MAX_K, "{} codes, {} bytes", x.len(), row.len());
    let (mut products, mut sum) = (0, 0);
    for (two, byte) in x.chunks(2).zip(row) {
        for (x, nibble) in two.iter().zip([byte & 15, byte >> 4]) {
            products += i32::from(*x) * i32::from(nibble);
            sum += i32::from(*x);
        }
    }
    products - BIAS * sum
}

/// `y[t * n + r] = (float(dot) * scale of the token) * scale of the row`, each multiplication rounded, overwritten.
///
/// # Panics
/// Where the activations have another k than the weights, or `y` is not `m * n` long.
pub fn linear_q4(x: Acts<'_>, w: &QuantizedMatrixQ4, y: &mut [f32]) {
    assert!(x.k() == w.k() && y.len() == x.m() * w.n(), "x[{},{}], y of {}", x.m(), x.k(), y.len());
    for (i, y) in y.iter_mut().enumerate() {
        let (t, n) = (i / w.n(), i % w.n());
        if let Some((row, scale)) = w.row(n) {
            *y = dot_i32_q4(x.codes(t), row) as f32 * x.scale(t) * scale;
        }
    }
}
