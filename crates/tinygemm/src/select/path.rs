//! [`PathKind`] and [`Path`]: the 4-bit paths, and one as it is run.

use core::fmt;
use core::str::FromStr;

use super::{Accelerator, SelectError};
use crate::w4a16::Layout;

/// A 4-bit path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathKind {
    /// [`w4a16`](crate::w4a16): bf16 activations.
    W4A16,
    /// [`w4a8`](crate::w4a8): int8 activations, scales of groups.
    W4A8,
    /// [`int4`](crate::int4): int8 activations, scales of rows.
    Int4,
    /// [`wna16`](crate::wna16): bf16 activations, each weight rounded to bf16.
    Fallback,
}

impl PathKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::W4A16, Self::W4A8, Self::Int4, Self::Fallback];

    /// The name, as the command line takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::W4A16 => "w4a16",
            Self::W4A8 => "w4a8",
            Self::Int4 => "int4",
            Self::Fallback => "fallback",
        }
    }
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PathKind {
    type Err = SelectError;

    fn from_str(name: &str) -> Result<Self, SelectError> {
        Self::ALL.into_iter().find(|path| path.name() == name).ok_or(SelectError::Unknown { what: "path" })
    }
}

/// A path as it is run: by which kernels, and of W4A16 in which layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// bf16 activations.
    W4A16 {
        /// How codes are packed, which says how they are rounded too.
        layout: Layout,
        /// The kernels.
        accelerator: Accelerator,
    },
    /// int8 activations, scales of groups.
    W4A8 {
        /// The kernels.
        accelerator: Accelerator,
    },
    /// int8 activations, scales of rows.
    Int4 {
        /// The kernels.
        accelerator: Accelerator,
    },
    /// bf16 activations, each weight rounded to bf16.
    Fallback {
        /// The kernels.
        accelerator: Accelerator,
    },
}

impl Path {
    /// Which path it is.
    #[must_use]
    pub const fn kind(self) -> PathKind {
        match self {
            Self::W4A16 { .. } => PathKind::W4A16,
            Self::W4A8 { .. } => PathKind::W4A8,
            Self::Int4 { .. } => PathKind::Int4,
            Self::Fallback { .. } => PathKind::Fallback,
        }
    }

    /// The kernels that it runs by. Results do not depend on them.
    #[must_use]
    pub const fn accelerator(self) -> Accelerator {
        match self {
            Self::W4A16 { accelerator, .. }
            | Self::W4A8 { accelerator }
            | Self::Int4 { accelerator }
            | Self::Fallback { accelerator } => accelerator,
        }
    }

    /// The name of the bytes that it multiplies by: its own, and of W4A16 the layout's. Kernels are no part of it.
    #[must_use]
    pub const fn bytes_name(self) -> &'static str {
        match self {
            Self::W4A16 { layout: Layout::Avx512, .. } => "w4a16-avx512",
            Self::W4A16 { layout: Layout::Avx2, .. } => "w4a16-avx2",
            Self::W4A16 { layout: Layout::Scalar, .. } => "w4a16-scalar",
            Self::W4A8 { .. } => "w4a8",
            Self::Int4 { .. } => "int4",
            Self::Fallback { .. } => "fallback",
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.bytes_name(), self.accelerator())
    }
}
