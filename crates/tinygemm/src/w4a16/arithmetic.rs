//! The arithmetic of each layout: what a weight is, and how a product is added up.

use libm::fmaf;

use super::Layout;

impl Layout {
    /// The weight of `code`, by its group's scale and zero, as the layout's kernel rounds it.
    ///
    /// Mathematically `(code - 8) * scale + zero` in all three; not rounded to bf16.
    ///
    /// | layout | steps |
    /// |---|---|
    /// | [`Avx512`](Self::Avx512) | `fma(code - 8, scale, zero)` |
    /// | [`Avx2`](Self::Avx2) | `z = fma(scale, -8, zero)`, then `fma(code, scale, z)` |
    /// | [`Scalar`](Self::Scalar) | `(code - 8) * scale`, rounded, then `+ zero` |
    #[must_use]
    pub fn weight(self, code: u8, scale: f32, zero: f32) -> f32 {
        let level = f32::from(code) - 8.0;
        match self {
            Self::Avx512 => fmaf(level, scale, zero),
            Self::Avx2 => fmaf(f32::from(code), scale, fmaf(scale, -8.0, zero)),
            Self::Scalar => level * scale + zero,
        }
    }

    /// `sum` and the product of an activation and a weight: rounded once, or twice in [`Scalar`](Self::Scalar).
    #[must_use]
    pub fn step(self, x: f32, weight: f32, sum: f32) -> f32 {
        match self {
            Self::Avx512 | Self::Avx2 => fmaf(x, weight, sum),
            Self::Scalar => sum + x * weight,
        }
    }
}
