//! [`Features`]: what an instruction set has, and which tiers follow from that.

/// The tiers of this version, best last, and the features that each needs.
///
/// A machine has those of one architecture. AVX-VNNI stands before AVX-512 without VNNI, which no machine has beside it alone: who has both
/// has AVX512-VNNI too.
const TIERS: [(&str, &[&str]); 8] = [
    ("portable", &[]),
    ("x86-64-v3", &["avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "popcnt"]),
    ("x86-64-v3-avxvnni", &["avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "popcnt", "avxvnni"]),
    ("x86-64-v4", &V4),
    ("x86-64-v4-vnni", &V4_VNNI),
    ("neon", &["neon"]),
    ("neon-dotprod", &["neon", "dotprod"]),
    ("neon-i8mm", &["neon", "dotprod", "i8mm"]),
];

const V4: [&str; 12] = [
    "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl",
];

const V4_VNNI: [&str; 13] = [
    "avx2",
    "bmi1",
    "bmi2",
    "f16c",
    "fma",
    "lzcnt",
    "popcnt",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
    "avx512vnni",
];

/// The names of all tiers, in the order of [`TIERS`].
pub(crate) const NAMES: [&str; TIERS.len()] = {
    let mut names = [""; TIERS.len()];
    let mut i = 0;
    while i < TIERS.len() {
        names[i] = TIERS[i].0;
        i += 1;
    }
    names
};

/// Features of an instruction set, by the names that Rust gives them: those of this machine, or of one that is described.
///
/// Which tiers a machine has is a function of them.
///
/// ```
/// use keepq_simd::Features;
///
/// let haswell = Features::new(&["avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "popcnt"]);
/// assert_eq!(haswell.tiers(), ["portable", "x86-64-v3"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    names: Vec<&'static str>,
}

impl Features {
    /// These features.
    #[must_use]
    pub fn new(names: &[&'static str]) -> Self {
        Self { names: names.to_vec() }
    }

    /// Those features of this machine that tiers need.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self { names: detected() }
    }

    /// Whether all of `names` are there.
    #[must_use]
    pub fn have(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.names.contains(name))
    }

    /// The names of the tiers that a machine with these features has, best last.
    #[must_use]
    pub fn tiers(&self) -> Vec<&'static str> {
        TIERS.iter().filter(|(_, needed)| self.have(needed)).map(|(name, _)| *name).collect()
    }
}

/// The names among these that `$detected` finds.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! detect {
    ($detected:ident: $($name:tt)*) => {
        [$(($name, std::arch::$detected!($name))),*].into_iter().filter_map(|(name, found)| found.then_some(name)).collect()
    };
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Vec<&'static str> {
    detect!(is_x86_feature_detected:
        "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "popcnt" "avxvnni"
        "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl" "avx512vnni")
}

#[cfg(target_arch = "aarch64")]
fn detected() -> Vec<&'static str> {
    detect!(is_aarch64_feature_detected: "neon" "dotprod" "i8mm")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detected() -> Vec<&'static str> {
    Vec::new()
}
