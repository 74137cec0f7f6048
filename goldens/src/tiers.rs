//! The tiers that tests run.

use keepq_simd::Tier;

/// All tiers that this machine has; where `KEEPQ_TEST_TIERS` has names between commas, those: an emulator takes long for each.
///
/// # Panics
/// Where one of them is not there: nothing would be tested, and all pass.
#[must_use]
pub fn tested_tiers() -> Vec<Tier> {
    match std::env::var("KEEPQ_TEST_TIERS") {
        Ok(names) => named(&names),
        Err(_) => Tier::available(),
    }
}

fn named(names: &str) -> Vec<Tier> {
    let named = |name| Tier::from_name(name).unwrap_or_else(|error| panic!("KEEPQ_TEST_TIERS: {error}"));
    names.split(',').map(named).collect()
}

/// Whether `KEEPQ_QUICK` is set: less of what is only more of the same.
#[must_use]
pub fn is_quick() -> bool {
    std::env::var_os("KEEPQ_QUICK").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tiers() {
        assert_eq!(named("portable"), [Tier::PORTABLE]);
        assert_eq!(named("portable,portable"), [Tier::PORTABLE; 2]);
    }

    #[test]
    #[should_panic(expected = "KEEPQ_TEST_TIERS: ")]
    fn a_tier_that_is_not_there_is_no_tier_less() {
        let missing = Tier::missing().first().copied().unwrap_or("no-such-tier");
        named(&format!("portable,{missing}"));
    }
}
