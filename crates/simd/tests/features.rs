//! Which tiers described processors have, and whether this machine has those that it was promised to have.

use std::fmt::Write as _;

use keepq_simd::{Features, Tier};

/// Processors, and of their features those that tiers need.
const PROCESSORS: [(&str, &str); 15] = [
    ("first x86-64", ""),
    ("Haswell", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt"),
    // AVX-512 without the parts for bytes, and without short registers.
    ("Knights Landing", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avx512f avx512cd"),
    ("Skylake-X", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avx512f avx512bw avx512cd avx512dq avx512vl"),
    ("Ice Lake", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avx512f avx512bw avx512cd avx512dq avx512vl avx512vnni"),
    (
        "Sapphire Rapids",
        "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avx512f avx512bw avx512cd avx512dq avx512vl avx512vnni avxvnni",
    ),
    ("Arrow Lake", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avxvnni"),
    ("Zen 3", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt"),
    ("Zen 4", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avx512f avx512bw avx512cd avx512dq avx512vl avx512vnni"),
    ("Zen 5", "avx2 bmi1 bmi2 f16c fma lzcnt popcnt avx512f avx512bw avx512cd avx512dq avx512vl avx512vnni avxvnni"),
    ("Cortex-A57", "neon"),
    ("Cortex-A76", "neon dotprod"),
    ("Neoverse V1", "neon dotprod i8mm"),
    ("Apple M1", "neon dotprod"),
    ("Apple M2", "neon dotprod i8mm"),
];

#[test]
fn described_processors_have_their_tiers() {
    let mut table = String::new();
    for (processor, features) in PROCESSORS {
        let tiers = Features::new(&features.split_whitespace().collect::<Vec<_>>()).tiers();
        writeln!(table, "{processor:16} {}", tiers.join(" < ")).expect("a text grows");
    }
    insta::assert_snapshot!(table);
}

/// One feature less, and the tiers that need it are gone.
#[test]
fn no_tier_is_there_without_all_its_features() {
    for (_, features) in PROCESSORS {
        let all: Vec<_> = features.split_whitespace().collect();
        let tiers = Features::new(&all).tiers();
        let best = tiers.last().expect("portable");
        if Features::new(&[]).tiers().contains(best) {
            continue;
        }
        for lost in &all {
            let rest: Vec<_> = all.iter().copied().filter(|name| name != lost).collect();
            let left = Features::new(&rest).tiers();
            assert!(left.iter().all(|name| tiers.contains(name)), "{left:?} without {lost}");
            // AVX-VNNI is no part of the best tier where AVX512-VNNI is, nor is AVX-512 of which only a part is there.
            let is_idle = match *best {
                "x86-64-v4" | "x86-64-v4-vnni" => *lost == "avxvnni",
                "x86-64-v3" => lost.starts_with("avx512"),
                _ => false,
            };
            assert_eq!(!left.contains(best), !is_idle, "{best} without {lost}");
        }
    }
}

#[test]
fn the_best_tier_is_the_last_of_this_machines_features() {
    let tiers = Features::of_this_machine().tiers();
    assert_eq!(Some(&Tier::best().name()), tiers.last());
    assert_eq!(Tier::available().iter().map(|tier| tier.name()).collect::<Vec<_>>(), tiers);
}

/// `KEEPQ_REQUIRE_TIERS`, tiers between commas: where an emulator lacks one of them, nothing would be tested and all pass.
#[test]
fn required_tiers_are_there() {
    let Ok(required) = std::env::var("KEEPQ_REQUIRE_TIERS") else {
        println!("skipped: KEEPQ_REQUIRE_TIERS names no tiers");
        return;
    };
    for name in required.split(',') {
        Tier::from_name(name).unwrap_or_else(|error| panic!("{error}: here are {:?}", Tier::available()));
    }
}
