//! [`Selection`] and [`SelectError`]: the path that is taken, or why none is, and why.

use alloc::vec::Vec;
use core::fmt;

use super::{Fit, PassedOver, Path, PathKind};

/// A path and why it is taken; [`Display`](fmt::Display) is a line for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The path.
    pub path: Path,
    /// Why.
    pub reason: Reason,
    /// What becomes of the stored weights.
    pub fit: Fit,
    /// Faster kernels of the path that the processor has the instructions for, the fastest first.
    pub passed_over: Vec<PassedOver>,
}

/// Why a path is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// For speed: int8 activations.
    Int8,
    /// For speed: weights are stored as per-channel int4, whose gates are both passed.
    StoredInt4,
    /// For fidelity: bf16 activations.
    Bf16,
    /// By PyTorch's rule: AMX is usable.
    AmxUsable,
    /// By PyTorch's rule: AMX is not usable.
    NoAmx,
    /// The path that comes first cannot be taken.
    Instead {
        /// That path.
        of: PathKind,
        /// Why it is not taken.
        because: Because,
    },
    /// The caller names it.
    Named,
    /// The caller names int4, one of whose gates is not recorded as passed.
    NamedWithoutGates,
}

/// Why the path that comes first is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// No kernels of it are usable.
    NoKernels,
    /// It would quantize weights again that are quantized already.
    QuantizedAgain,
    /// It has no form for the stored weights.
    Impossible,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoKernels => "has no usable kernels",
            Self::QuantizedAgain => "would quantize the weights again",
            Self::Impossible => "has no form for the weights",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int8 => f.write_str("int8 activations are the fastest"),
            Self::StoredInt4 => f.write_str("weights are stored so, and the gates of speed and quality are passed"),
            Self::Bf16 => f.write_str("bf16 activations lose the least"),
            Self::AmxUsable => f.write_str("upstream's rule: AMX is usable"),
            Self::NoAmx => f.write_str("upstream's rule: AMX is not usable"),
            Self::Instead { of, because } => write!(f, "{of} {because}"),
            Self::Named => f.write_str("named by the caller"),
            Self::NamedWithoutGates => {
                f.write_str("named by the caller, without the gates of speed and quality on record")
            }
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.reason, self.fit)?;
        list(f, "; not ", &self.passed_over)
    }
}

/// Why no path is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectError {
    /// No kernels of a path are usable.
    NoKernels {
        /// The path.
        path: PathKind,
        /// The kernels that there are, the fastest first.
        passed_over: Vec<PassedOver>,
    },
    /// There are matrices that a path has no form for.
    Impossible {
        /// The path.
        path: PathKind,
    },
    /// Every path that comes into question would quantize weights again that are quantized already; one of them has to be named for it.
    QuantizedAgain,
    /// The group of the configuration is none of 32, 64, 128 and 256.
    Group {
        /// It.
        group_size: usize,
    },
    /// A name that there is nothing of.
    Unknown {
        /// What it should be the name of.
        what: &'static str,
    },
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKernels { path, passed_over } => {
                write!(f, "{path}: no usable kernels")?;
                list(f, ": ", passed_over)
            }
            Self::Impossible { path } => write!(f, "{path}: there are matrices of a shape that it has no form for"),
            Self::QuantizedAgain => {
                f.write_str("the weights are quantized already, and every path would quantize them again: name one")
            }
            Self::Group { group_size } => write!(f, "group_size: expected 32, 64, 128 or 256, found {group_size}"),
            Self::Unknown { what } => {
                write!(f, "no such {what}: there are w4a16, w4a8, int4, fallback")?;
                if *what == "path" { Ok(()) } else { f.write_str(", auto, fidelity, upstream") }
            }
        }
    }
}

impl core::error::Error for SelectError {}

/// Those passed over, if any.
fn list(f: &mut fmt::Formatter<'_>, before: &str, passed_over: &[PassedOver]) -> fmt::Result {
    for (i, kernels) in passed_over.iter().enumerate() {
        write!(f, "{}{kernels}", if i == 0 { before } else { ", " })?;
    }
    Ok(())
}
