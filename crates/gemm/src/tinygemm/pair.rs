//! [`Pair`]: activations and weights of a 4-bit path that fit each other.

use std::ops::Range;

use keepq_simd::Tier;
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::w4a16::{Layout, RowMajor};
use keepq_tinygemm::{Acts, w4a8, w4a16, wna16};

/// Columns of the output that are computed together: whole blocks of every format.
pub(crate) const STRIP: usize = 64;

/// A pair that can be multiplied: both have the same k.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pair<'a> {
    /// `m` tokens as floats.
    Floats {
        m: usize,
        x: &'a [f32],
        w: ByFloats<'a>,
    },
    Codes {
        x: Acts<'a>,
        w: ByCodes<'a>,
    },
}

/// Weights that are multiplied by floats.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByFloats<'a> {
    /// With the tokens from which panels are decoded.
    W4A16(w4a16::Weights<'a>, usize),
    /// With the layout whose arithmetic it has.
    RowMajor(RowMajor<'a>, Layout),
    Wna16(wna16::Weights<'a>),
}

/// Weights that are multiplied by int8 codes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByCodes<'a> {
    W4A8(w4a8::Weights<'a>),
    Int4(&'a QuantizedMatrixQ4),
}

impl ByFloats<'_> {
    /// n and k.
    pub(crate) const fn shape(&self) -> (usize, usize) {
        match self {
            Self::W4A16(w, _) => (w.packed().n(), w.packed().k()),
            Self::RowMajor(w, _) => (w.n(), w.k()),
            Self::Wna16(w) => (w.n(), w.k()),
        }
    }

    const fn bytes(&self) -> usize {
        match self {
            Self::W4A16(w, _) => w.bytes(),
            Self::RowMajor(w, _) => w.bytes(),
            Self::Wna16(w) => w.bytes(),
        }
    }
}

impl ByCodes<'_> {
    /// n and k.
    pub(crate) const fn shape(&self) -> (usize, usize) {
        match self {
            Self::W4A8(w) => (w.n(), w.k()),
            Self::Int4(w) => (w.n(), w.k()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::W4A8(w) => w.bytes(),
            Self::Int4(w) => w.bytes(),
        }
    }
}

impl Pair<'_> {
    pub(crate) const fn m(&self) -> usize {
        match self {
            Self::Floats { m, .. } => *m,
            Self::Codes { x, .. } => x.m(),
        }
    }

    pub(crate) const fn n(&self) -> usize {
        self.shape().0
    }

    pub(crate) const fn k(&self) -> usize {
        self.shape().1
    }

    const fn shape(&self) -> (usize, usize) {
        match self {
            Self::Floats { w, .. } => w.shape(),
            Self::Codes { w, .. } => w.shape(),
        }
    }

    /// Bytes of the weights of one column.
    pub(crate) fn row_bytes(&self) -> usize {
        let bytes = match self {
            Self::Floats { w, .. } => w.bytes(),
            Self::Codes { w, .. } => w.bytes(),
        };
        bytes / self.n().max(1)
    }

    /// The results of some columns, which begin and end with a [`STRIP`], and tokens, row after row, to `out`.
    pub(crate) fn multiply(&self, tier: Tier, columns: Range<usize>, tokens: Range<usize>, out: &mut [f32]) {
        match self {
            Self::Floats { x, w, .. } => {
                let x = &x[tokens.start * self.k()..tokens.end * self.k()];
                match *w {
                    ByFloats::W4A16(w, threshold) => tier.w4a16_strip(w, columns, x, out, threshold),
                    ByFloats::RowMajor(w, layout) => tier.w4a16_row_major_strip(layout, w, columns, x, out),
                    ByFloats::Wna16(w) => tier.wna16_strip(w, columns, x, out),
                }
            }
            Self::Codes { x, w } => match *w {
                ByCodes::W4A8(w) => tier.w4a8_strip(w, columns, x.tokens(tokens), out),
                ByCodes::Int4(w) => tier.int4_strip(w, columns, x.tokens(tokens), out),
            },
        }
    }
}
