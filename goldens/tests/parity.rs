//! All goldens, on every tier that this machine has: what `cargo xtask parity` does, without its table.

use std::collections::HashSet;

use keepq_goldens::foreign::Foreign;
use keepq_goldens::{Blessing, Case, Sums, cases, is_quick, tested_tiers};
use keepq_simd::Tier;

#[test]
fn every_case_gives_its_golden_on_every_tier_and_thread_count() {
    let sums = Sums::stored();
    let mut failures = Vec::new();
    // Emulators have the time for one thread.
    let threads: &[usize] = if is_quick() { &[1] } else { &[1, 2, 4] };
    let tiers = tested_tiers();
    for case in cases() {
        for &tier in &tiers {
            for &threads in threads {
                if sums.get(case.name()) != Some(&case.run(tier, threads).md5()) {
                    failures.push(format!("{} on {tier}, {threads} threads", case.name()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn goldens_and_cases_are_one_to_one() {
    let (sums, cases) = (Sums::stored(), cases());
    let names: Vec<&str> = cases.iter().map(Case::name).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "a name is there twice");
    assert_eq!(sums.names().collect::<Vec<_>>(), names, "`cargo xtask parity --bless` writes them in this order");
}

#[test]
fn goldens_are_the_naive_implementations_and_agree_with_ggml() {
    let (sums, foreign, cases) = (Sums::stored(), Foreign::stored(), cases());
    let blessed: Vec<Blessing> = cases.iter().map(Case::bless).collect();
    for (case, blessing) in cases.iter().zip(&blessed) {
        assert_eq!(sums.get(case.name()), foreign.golden(case, blessing).as_deref(), "{}", case.name());
        // Nothing else is ggml's alone.
        let is_search =
            ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"].iter().any(|ty| case.name().starts_with(&format!("encode/{ty}/")));
        assert_eq!(*blessing == Blessing::Ggml, is_search, "{}", case.name());
    }
    let disagreements = foreign.disagreements(&cases, &blessed);
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

/// An output that is all zeros or NaN would equal many a broken one.
#[test]
fn outputs_hold_numbers() {
    let trivial = [
        "/zeros",
        "/m0-",
        "-k0",
        "softmax/all-masked",
        "softmax/non-finite",
        "attention/nothing-with",
        "attention/infinite-score",
    ];
    for case in cases().iter().filter(|case| !trivial.iter().any(|part| case.name().contains(part))) {
        let output = match case.bless() {
            Blessing::Naive(output) => output,
            Blessing::Ggml => case.run(Tier::PORTABLE, 1),
        };
        let mut words = output.bytes().chunks(4);
        assert!(words.any(|word| word != [0; 4] && word != f32::NAN.to_le_bytes()), "{}", case.name());
    }
}
