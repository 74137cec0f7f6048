//! The machine at hand, as the selector of the 4-bit paths is told of it.

use keepq_simd::{Tier, probe};
use keepq_tinygemm::select::{Accelerator, Config, PathKind, Permission, Policy, SelfTest, Stored, select};

#[test]
fn every_tier_is_an_accelerator_whose_self_tests_pass() {
    for name in Tier::names() {
        assert!(Accelerator::from_name(name).is_some(), "{name}");
    }
    let device = probe();
    for tier in Tier::available() {
        let mut of_tier = device.kernels.iter().filter(|kernels| kernels.accelerator.name() == tier.name());
        let (Some(kernels), None) = (of_tier.next(), of_tier.next()) else { panic!("{tier}: {device:?}") };
        for path in PathKind::ALL {
            assert_eq!(kernels.usable(path), Ok(()), "{path} on {tier}");
        }
    }
    // Nobody has asked for it.
    let amx = device.kernels.iter().find(|kernels| kernels.accelerator == Accelerator::Amx);
    assert!(amx.is_none_or(|amx| amx.permission == Permission::NotAsked && amx.self_tests.w4a8 == SelfTest::Absent));
    assert!(!device.int4_quality);
}

#[test]
fn the_best_tier_is_chosen_here() {
    let device = probe();
    for policy in
        [Policy::Speed, Policy::Fidelity, Policy::Upstream].into_iter().chain(PathKind::ALL.map(Policy::Named))
    {
        let selection = select(&device, policy, &Stored::FLOATS, &Config::default()).unwrap();
        let accelerator = selection.path.accelerator();
        assert_eq!(Tier::best().name(), accelerator.name(), "{selection}");
    }
}
