//! The processors, and what LLVM knows of them.

/// An architecture that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// The compiler's name of the target.
    pub(super) fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }
}

/// A tier on a processor that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processor {
    pub(super) tier: &'static str,
    /// As LLVM names it.
    pub(super) name: &'static str,
}

impl Processor {
    const fn new(tier: &'static str, name: &'static str) -> Self {
        Self { tier, name }
    }

    pub(super) fn architecture(self) -> Architecture {
        if self.tier.starts_with("neon") { Architecture::Aarch64 } else { Architecture::X86_64 }
    }

    /// An instruction as the model of this processor is asked for it.
    ///
    /// LLVM's table of Zen 4 has `vpdpbusd` between registers once in two cycles, and with memory twice in one. What is measured on such a processor
    /// is two a cycle in either form. A fused multiply-add of floats is issued to the same two units, as often, and adds to its
    /// destination after as many cycles: the table is right about that one.
    pub(super) fn modelled(self, instruction: &str) -> String {
        match self.name {
            "znver4" => instruction.replace("vpdpbusd", "vfmadd231ps").replace("vpdpwssd", "vfmadd231ps"),
            _ => instruction.to_owned(),
        }
    }
}

/// x86-64-v3 on Zen 4 is there to be compared with what was measured.
///
/// Which tables LLVM 22 has: sapphirerapids, icelake-server, znver4 and neoverse-v1 their own, skylake-avx512 that of Skylake's servers, alderlake
/// that of its large cores, apple-m1 that of Cyclone, an Apple processor of 2013 with three vector units in place of four.
pub(super) const PROCESSORS: [Processor; 11] = [
    Processor::new("x86-64-v3", "znver4"),
    Processor::new("x86-64-v3-avxvnni", "alderlake"),
    Processor::new("x86-64-v4", "skylake-avx512"),
    Processor::new("x86-64-v4-vnni", "icelake-server"),
    Processor::new("x86-64-v4-vnni", "sapphirerapids"),
    Processor::new("x86-64-v4-vnni", "znver4"),
    Processor::new("neon", "neoverse-v1"),
    Processor::new("neon", "apple-m1"),
    Processor::new("neon-dotprod", "neoverse-v1"),
    Processor::new("neon-dotprod", "apple-m1"),
    Processor::new("neon-i8mm", "neoverse-v1"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_those_of_this_version() {
        for processor in PROCESSORS {
            assert!(keepq_simd::Tier::names().contains(&processor.tier), "{processor:?}");
        }
    }

    #[test]
    fn only_zen_4_is_asked_for_another_instruction() {
        let instruction = "vpdpbusd\t%ymm25, %ymm4, %ymm30";
        let modelled = |name| Processor::new("x86-64-v4-vnni", name).modelled(instruction);
        assert_eq!(modelled("icelake-server"), instruction);
        assert_eq!(modelled("znver4"), "vfmadd231ps\t%ymm25, %ymm4, %ymm30");
    }
}
