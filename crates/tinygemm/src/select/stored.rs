//! [`Stored`]: what each path would make of the weights that a checkpoint holds.

use core::fmt;

use super::PathKind;
use crate::error::is_group;
use crate::w4a16::Layout;
use crate::{int4, w4a8, wna16};

/// What a path makes of stored weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// It multiplies by the weights that are stored: the same codes, scales and zeros, in another order at most.
    Exact,
    /// Codes are those that are stored; scales or zeros are rounded to what the path has room for.
    Rounded,
    /// They are floats, and are quantized.
    Quantized,
    /// They are quantized already, and would be quantized again from their values.
    QuantizedAgain,
    /// There are matrices that the path has no form for.
    Impossible,
}

impl Fit {
    /// Whether a policy may take it without being asked: nothing that was quantized is quantized again.
    pub(super) const fn is_fair(self) -> bool {
        matches!(self, Self::Exact | Self::Rounded | Self::Quantized)
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "weights as stored",
            Self::Rounded => "codes as stored, scales rounded",
            Self::Quantized => "weights are quantized",
            Self::QuantizedAgain => "weights are quantized again",
            Self::Impossible => "weights do not fit",
        })
    }
}

/// What each path would make of the weights that a checkpoint holds.
///
/// | | W4A16 | W4A8 | int4 | fallback |
/// |---|---|---|---|---|
/// | [`FLOATS`](Self::FLOATS) | quantized | quantized | quantized | quantized |
/// | [`BLOCKS`](Self::BLOCKS): GGUF | again | again | again | again |
/// | [`CPU_INT4`](Self::CPU_INT4): bf16 scales, real offsets | exact | again | again | again |
/// | [`CPU_INT4_SYMMETRIC`](Self::CPU_INT4_SYMMETRIC): the same, all offsets 0 | exact | exact | again | exact |
/// | [`ZERO_POINTS`](Self::ZERO_POINTS): GPTQ, AWQ: f16 scales, zero points | rounded | exact | again | rounded |
/// | [`W4A8`](Self::W4A8): f32 scales, zero points | rounded | exact | again | again |
/// | [`INT4`](Self::INT4): an f32 scale a row | rounded | exact | exact | rounded |
///
/// W4A8 has zero points of integers, W4A16 offsets of bf16: `(8 - zero point) * scale` has too many bits for it in general, and an offset is no
/// multiple of its scale. The fallback's zero points are nibbles, and those of W4A8 need not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Of W4A16.
    pub w4a16: Fit,
    /// Of W4A8.
    pub w4a8: Fit,
    /// Of per-channel int4.
    pub int4: Fit,
    /// Of the fallback.
    pub fallback: Fit,
    /// The layout that codes are packed in already.
    pub layout: Option<Layout>,
}

impl Stored {
    /// Floats.
    pub const FLOATS: Self = Self::all(Fit::Quantized);
    /// Blocks of a GGUF file.
    pub const BLOCKS: Self = Self::all(Fit::QuantizedAgain);
    /// A `cpu_int4` checkpoint.
    pub const CPU_INT4: Self = Self { w4a16: Fit::Exact, ..Self::BLOCKS };
    /// A `cpu_int4` checkpoint whose offsets are all 0.
    pub const CPU_INT4_SYMMETRIC: Self = Self { w4a8: Fit::Exact, fallback: Fit::Exact, ..Self::CPU_INT4 };
    /// A GPTQ or AWQ checkpoint.
    pub const ZERO_POINTS: Self =
        Self { w4a16: Fit::Rounded, w4a8: Fit::Exact, fallback: Fit::Rounded, ..Self::BLOCKS };
    /// Records of W4A8.
    pub const W4A8: Self = Self { fallback: Fit::QuantizedAgain, ..Self::ZERO_POINTS };
    /// Rows of per-channel int4.
    pub const INT4: Self = Self { int4: Fit::Exact, ..Self::ZERO_POINTS };

    const fn all(fit: Fit) -> Self {
        Self { w4a16: fit, w4a8: fit, int4: fit, fallback: fit, layout: None }
    }

    /// Codes that are packed in a layout, whose bits are those of this layout.
    #[must_use]
    pub const fn packed(self, layout: Layout) -> Self {
        Self { layout: Some(layout), ..self }
    }

    /// The same where there is a matrix of `n` rows of `k` elements among them, in groups: paths that have no form for it are impossible.
    #[must_use]
    pub const fn with_matrix(mut self, n: usize, k: usize, group: usize) -> Self {
        let groups = is_group(k, group);
        if !groups || !n.is_multiple_of(wna16::ROWS) {
            self.w4a16 = Fit::Impossible;
            self.fallback = Fit::Impossible;
        }
        if !groups || !n.is_multiple_of(w4a8::ROWS) {
            self.w4a8 = Fit::Impossible;
        }
        if k > int4::MAX_K {
            self.int4 = Fit::Impossible;
        }
        self
    }

    /// What one path makes of them.
    #[must_use]
    pub const fn fit(&self, path: PathKind) -> Fit {
        match path {
            PathKind::W4A16 => self.w4a16,
            PathKind::W4A8 => self.w4a8,
            PathKind::Int4 => self.int4,
            PathKind::Fallback => self.fallback,
        }
    }
}
