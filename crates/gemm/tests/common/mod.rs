//! Matrices and tokens of every type.

use keepq_act::{ActBuf, ActFormat, ActRows};
use keepq_blocks::{GgmlType, Matrix};
use keepq_goldens::inputs::{Floats, Weights};
use keepq_goldens::naive::{NaiveType, TYPES};

/// Weight rows of one type, and tokens.
pub(crate) struct Problem {
    pub(crate) ty: GgmlType,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) w: Vec<u8>,
    pub(crate) x: Vec<f32>,
}

impl Problem {
    /// `n` rows and `m` tokens, k of so many blocks; where the type has none, of as many times 32 and five elements.
    pub(crate) fn new(ty: &NaiveType, m: usize, n: usize, blocks: usize) -> Self {
        Self::with_k(ty, m, n, ty.chunk() * blocks + if ty.is_float() { 5 } else { 0 })
    }

    /// `n` rows and `m` tokens of `k` elements, of several kinds in turn.
    pub(crate) fn with_k(ty: &NaiveType, m: usize, n: usize, k: usize) -> Self {
        let encoded = [Weights::Encoded(Floats::Gaussian), Weights::Codes, Weights::Encoded(Floats::Asymmetric)];
        let rows = if ty.dots.is_some() { &encoded[..] } else { &[Weights::Codes] };
        let tokens = [Floats::Gaussian, Floats::Asymmetric, Floats::Outlier];
        Self {
            ty: ty.ty,
            n,
            k,
            w: (0..n).flat_map(|r| rows[r % rows.len()].row(ty, k, r as u64)).collect(),
            x: (0..m).flat_map(|t| tokens[t % tokens.len()].row(k, 7000 + t as u64)).collect(),
        }
    }

    /// One of every type.
    pub(crate) fn all(m: usize, n: usize, blocks: usize) -> impl Iterator<Item = Self> {
        TYPES.iter().map(move |ty| Self::new(ty, m, n, blocks))
    }

    pub(crate) fn matrix(&self) -> Matrix<'_> {
        Matrix::new(self.ty, self.n, self.k, &self.w).unwrap()
    }

    /// Tokens `first..first + m`, quantized.
    pub(crate) fn tokens<'a>(&'a self, first: usize, m: usize, buffer: &'a mut ActBuf) -> ActRows<'a> {
        let format = ActFormat::for_weights(self.ty).unwrap();
        buffer.quantize(format, m, self.k, &self.x[first * self.k..(first + m) * self.k]).unwrap()
    }
}
