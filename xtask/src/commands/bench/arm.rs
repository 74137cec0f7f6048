//! [`Arm`]: the ways to hold and multiply the same weights. They are one binary; the environment tells them apart.

use std::fmt;

use clap::ValueEnum;
use keepq_tinygemm::select::Policy;

/// A way to hold and multiply the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Arm {
    /// Block types expanded to bf16 at load, transposed
    Before,
    /// Blocks kept as stored and computed in quant
    After,
    /// The same bf16 values as before, portable kernels
    Oracle,
    /// As after, but copied to rows interleaved by eight; runs only where asked for
    Interleaved,
    /// A path of 4 bits, by which a checkpoint is multiplied
    #[value(skip)]
    Path(Policy),
}

/// The variables that [`Arm::variable`] sets, one arm each.
pub(super) const VARIABLES: [&str; 2] = ["KEEPQ_KEEP_QUANT", "KEEPQ_CPU_REF"];

impl Arm {
    /// Those that run where none is asked for.
    pub(super) const DEFAULT: [Self; 3] = [Self::Before, Self::After, Self::Oracle];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Oracle => "oracle",
            Self::Interleaved => "interleaved",
            Self::Path(policy) => policy.name(),
        }
    }

    /// The environment variable that makes a run this arm, and its value. The arm after needs none.
    pub(super) const fn variable(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Before => Some(("KEEPQ_KEEP_QUANT", "0")),
            Self::After | Self::Path(_) => None,
            Self::Oracle => Some(("KEEPQ_CPU_REF", "1")),
            Self::Interleaved => Some(("KEEPQ_KEEP_QUANT", "interleaved")),
        }
    }

    /// The path of a checkpoint; none for an arm of a GGUF file.
    pub(super) const fn policy(self) -> Option<Policy> {
        match self {
            Self::Path(policy) => Some(policy),
            _ => None,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
