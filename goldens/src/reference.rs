//! [`Reference`]: a dot in float64, to measure others against.

use crate::naive::NaiveType;

/// One dot of decoded values, in float64.
///
/// `l1` is docs/NUMERICS.md's `Σ |w| · |x|`. `parts` counts an element `d q + m` as `|d q| + |m|`, the two numbers that
/// are rounded: the two sums differ where scale and minimum cancel, and then only `parts` bounds what rounding does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference {
    /// The dot.
    pub value: f64,
    /// `Σ |w| · |x|`.
    pub l1: f64,
    /// `Σ (|d q| + |m|) · |x|`; equal to `l1` for types without a minimum.
    pub parts: f64,
}

impl Reference {
    /// Of a row of `ty` and activations as they meet it ([`NaiveType::met`]).
    #[must_use]
    pub fn new(ty: &NaiveType, row: &[u8], met: &[f32]) -> Self {
        let parts = row.chunks(ty.bytes).flat_map(ty.dots().parts);
        let mut sums = Self::default();
        for ((w, parts), &x) in ty.decode_row(row).into_iter().zip(parts).zip(met) {
            let (w, x) = (f64::from(w), f64::from(x));
            sums.value += w * x;
            sums.l1 += w.abs() * x.abs();
            sums.parts += parts * x.abs();
        }
        sums
    }

    /// How far an f32 result of `steps` additions may be from [`value`](Self::value), for a size of `l1` or `parts`.
    #[must_use]
    pub fn bound(steps: usize, size: f64) -> f64 {
        (steps + 8) as f64 / 16_777_216.0 * size
    }
}
