//! [`Device`]: what was found out about a machine, as plain data.

use alloc::vec::Vec;
use core::fmt;

use super::{Accelerator, PathKind};

/// A machine, as far as the choice of a path depends on it. `keepq_simd::probe` describes the one at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The kernels that the processor has the instructions for, in any order. The portable ones are no exception: what is not here is
    /// not chosen.
    pub kernels: Vec<Kernels>,
    /// Whether per-channel int4 is recorded as good enough for the model at hand: `xtask fidelity` decides it.
    pub int4_quality: bool,
}

/// The kernels of one instruction set on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// The instruction set, which the processor says it has.
    pub accelerator: Accelerator,
    /// What the operating system says to its use.
    pub permission: Permission,
    /// What the kernels computed when they were tried.
    pub self_tests: SelfTests,
    /// Whether per-channel int4 is recorded as faster than int8 by these kernels: `xtask gate` decides it.
    pub int4_speed: bool,
}

/// What the operating system says to the use of registers that it has to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It has none to give.
    NotNeeded,
    /// It was asked, and permits it.
    Granted,
    /// It was asked, and does not.
    Refused,
    /// It was not asked.
    NotAsked,
}

/// A self-test of each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfTests {
    /// Of W4A16.
    pub w4a16: SelfTest,
    /// Of W4A8.
    pub w4a8: SelfTest,
    /// Of per-channel int4.
    pub int4: SelfTest,
    /// Of the fallback.
    pub fallback: SelfTest,
}

/// Whether kernels have the bits of the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfTest {
    /// There are no such kernels, or they were not tried.
    Absent,
    /// They have them.
    Passed,
    /// They computed something else.
    Failed,
}

impl SelfTests {
    /// The same of each path.
    #[must_use]
    pub const fn all(result: SelfTest) -> Self {
        Self { w4a16: result, w4a8: result, int4: result, fallback: result }
    }

    /// That of one path.
    #[must_use]
    pub const fn of(&self, path: PathKind) -> SelfTest {
        match path {
            PathKind::W4A16 => self.w4a16,
            PathKind::W4A8 => self.w4a8,
            PathKind::Int4 => self.int4,
            PathKind::Fallback => self.fallback,
        }
    }
}

/// Why kernels that the processor has the instructions for are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The operating system refuses it.
    Refused,
    /// The operating system was not asked.
    NotAsked,
    /// There are none of this path, or they were not tried.
    Absent,
    /// They failed their self-test.
    Failed,
    /// The configuration asks for the plain loops ([`use_custom_op`](super::Config::use_custom_op)).
    NotWanted,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused by the operating system",
            Self::NotAsked => "the operating system was not asked",
            Self::Absent => "no kernels",
            Self::Failed => "self-test failed",
            Self::NotWanted => "use_custom_op is false",
        })
    }
}

/// Kernels that were not used, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// Their instruction set.
    pub accelerator: Accelerator,
    /// Why.
    pub why: Unusable,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.accelerator, self.why)
    }
}

impl Kernels {
    /// Whether a path may run by them: instructions, permission and a passed self-test together.
    ///
    /// # Errors
    /// What is missing.
    pub const fn usable(&self, path: PathKind) -> Result<(), Unusable> {
        match (self.permission, self.self_tests.of(path)) {
            (Permission::Refused, _) => Err(Unusable::Refused),
            (Permission::NotAsked, _) => Err(Unusable::NotAsked),
            (_, SelfTest::Absent) => Err(Unusable::Absent),
            (_, SelfTest::Failed) => Err(Unusable::Failed),
            (Permission::NotNeeded | Permission::Granted, SelfTest::Passed) => Ok(()),
        }
    }
}

impl Device {
    /// The fastest kernels that a path may run by, those that are faster and may not, and why.
    pub(super) fn best(&self, path: PathKind, custom: bool) -> (Option<&Kernels>, Vec<PassedOver>) {
        let mut kernels: Vec<&Kernels> = self.kernels.iter().collect();
        kernels.sort_by_key(|kernels| core::cmp::Reverse(kernels.accelerator));
        let mut passed_over = Vec::new();
        for kernels in kernels {
            let accelerator = kernels.accelerator;
            let wanted = custom || accelerator == Accelerator::Portable;
            match if wanted { kernels.usable(path) } else { Err(Unusable::NotWanted) } {
                Ok(()) => return (Some(kernels), passed_over),
                Err(why) => passed_over.push(PassedOver { accelerator, why }),
            }
        }
        (None, passed_over)
    }
}
