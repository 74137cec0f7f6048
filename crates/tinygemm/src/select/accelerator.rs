//! [`Accelerator`]: the instruction sets that kernels of a path may be compiled for.

use core::fmt;

/// An instruction set with kernels of the 4-bit paths: the tiers of `keepq-simd`, and AMX beside them. In order: a later one is faster on
/// a machine that has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Accelerator {
    /// None: the plain loops, which every machine has.
    Portable,
    /// AArch64 without products of bytes.
    Neon,
    /// AArch64 with `sdot`.
    NeonDotprod,
    /// AArch64 with `smmla`.
    NeonI8mm,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX2 with AVX-VNNI.
    Avx2Vnni,
    /// AVX-512 without VNNI.
    Avx512,
    /// AVX-512 with VNNI.
    Avx512Vnni,
    /// AMX's tiles of int8, which the operating system has to permit.
    Amx,
}

impl Accelerator {
    /// All of them, the fastest last.
    pub const ALL: [Self; 9] = [
        Self::Portable,
        Self::Neon,
        Self::NeonDotprod,
        Self::NeonI8mm,
        Self::Avx2,
        Self::Avx2Vnni,
        Self::Avx512,
        Self::Avx512Vnni,
        Self::Amx,
    ];

    /// The name of the tier, or `amx`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::NeonDotprod => "neon-dotprod",
            Self::NeonI8mm => "neon-i8mm",
            Self::Avx2 => "x86-64-v3",
            Self::Avx2Vnni => "x86-64-v3-avxvnni",
            Self::Avx512 => "x86-64-v4",
            Self::Avx512Vnni => "x86-64-v4-vnni",
            Self::Amx => "amx",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|accelerator| accelerator.name() == name)
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
