//! [`Policy`]: what a path is chosen for.

use core::fmt;
use core::str::FromStr;

use super::{PathKind, SelectError};

/// What a path is chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Tokens a second: W4A8 by the fastest usable kernels.
    #[default]
    Speed,
    /// Results near those of bf16 weights: W4A16.
    Fidelity,
    /// PyTorch's rule: W4A8 where AMX is usable, W4A16 in the layout that its packer makes on the machine otherwise.
    Upstream,
    /// The path that the caller names.
    Named(PathKind),
}

impl Policy {
    /// The name, as the command line takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Speed => "auto",
            Self::Fidelity => "fidelity",
            Self::Upstream => "upstream",
            Self::Named(path) => path.name(),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = SelectError;

    /// By [`name`](Self::name); `speed` is `auto` too.
    fn from_str(name: &str) -> Result<Self, SelectError> {
        match name {
            "auto" | "speed" => Ok(Self::Speed),
            "fidelity" => Ok(Self::Fidelity),
            "upstream" => Ok(Self::Upstream),
            name => name.parse().map(Self::Named).map_err(|_| SelectError::Unknown { what: "path or policy" }),
        }
    }
}
