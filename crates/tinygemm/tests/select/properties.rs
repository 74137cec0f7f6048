//! What holds on any machine, for any weights.

use keepq_tinygemm::select::{
    Accelerator, Config, Device, Fit, Kernels, Path, PathKind, Permission, Policy, SelectError, SelfTest, SelfTests,
    Stored, select,
};
use keepq_tinygemm::w4a16::Layout;
use proptest::prelude::*;
use proptest::sample::select as one_of;

fn any_kernels() -> impl Strategy<Value = Kernels> {
    let test = || one_of(vec![SelfTest::Absent, SelfTest::Passed, SelfTest::Passed, SelfTest::Failed]);
    let permission =
        one_of(vec![Permission::NotNeeded, Permission::Granted, Permission::Refused, Permission::NotAsked]);
    (one_of(Accelerator::ALL.to_vec()), permission, test(), test(), test(), test(), any::<bool>()).prop_map(
        |(accelerator, permission, w4a16, w4a8, int4, fallback, int4_speed)| Kernels {
            accelerator,
            permission,
            self_tests: SelfTests { w4a16, w4a8, int4, fallback },
            int4_speed,
        },
    )
}

fn any_device() -> impl Strategy<Value = Device> {
    (prop::collection::vec(any_kernels(), 0..5), any::<bool>())
        .prop_map(|(kernels, int4_quality)| Device { kernels, int4_quality })
}

fn any_stored() -> impl Strategy<Value = Stored> {
    let fit = || one_of(vec![Fit::Exact, Fit::Rounded, Fit::Quantized, Fit::QuantizedAgain, Fit::Impossible]);
    let layout = prop::option::of(one_of(Layout::ALL.to_vec()));
    (fit(), fit(), fit(), fit(), layout).prop_map(|(w4a16, w4a8, int4, fallback, layout)| Stored {
        w4a16,
        w4a8,
        int4,
        fallback,
        layout,
    })
}

fn any_config() -> impl Strategy<Value = Config> {
    (one_of(vec![32, 64, 128, 256]), any::<bool>()).prop_map(|(group_size, use_custom_op)| Config {
        group_size,
        use_custom_op,
        ..Config::default()
    })
}

const BY_ITSELF: [Policy; 3] = [Policy::Speed, Policy::Fidelity, Policy::Upstream];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_chosen_is_usable_and_the_best_of_what_is(
        device in any_device(), stored in any_stored(), config in any_config(),
    ) {
        for policy in BY_ITSELF.into_iter().chain(PathKind::ALL.map(Policy::Named)) {
            let Ok(selection) = select(&device, policy, &stored, &config) else { continue };
            let (kind, accelerator) = (selection.path.kind(), selection.path.accelerator());
            let usable = |kernels: &&Kernels| {
                kernels.usable(kind).is_ok() && (config.use_custom_op || kernels.accelerator == Accelerator::Portable)
            };
            let best = device.kernels.iter().filter(usable).map(|kernels| kernels.accelerator).max();
            prop_assert_eq!(best, Some(accelerator));
            prop_assert!(selection.fit != Fit::Impossible && selection.fit == stored.fit(kind));
            let better = device.kernels.iter().filter(|kernels| kernels.accelerator > accelerator).count();
            prop_assert!(selection.passed_over.len() >= better);
            if let (Path::W4A16 { layout, .. }, Some(stored)) = (selection.path, stored.layout) {
                prop_assert_eq!(layout, stored);
            }
            if let Policy::Named(path) = policy {
                prop_assert_eq!(kind, path);
            }
            prop_assert!(!selection.to_string().contains('\n'));
        }
    }

    #[test]
    fn what_nobody_named_is_neither_the_fallback_nor_quantized_again_nor_int4_without_its_gates(
        device in any_device(), stored in any_stored(), config in any_config(),
    ) {
        for policy in BY_ITSELF {
            let Ok(selection) = select(&device, policy, &stored, &config) else { continue };
            prop_assert_ne!(selection.path.kind(), PathKind::Fallback);
            prop_assert_ne!(selection.fit, Fit::QuantizedAgain);
            if let Path::Int4 { accelerator } = selection.path {
                prop_assert_eq!((policy, selection.fit), (Policy::Speed, Fit::Exact));
                prop_assert!(device.int4_quality);
                let of = |kernels: &Kernels| kernels.accelerator == accelerator && kernels.int4_speed;
                prop_assert!(device.kernels.iter().any(of));
            }
            if policy == Policy::Upstream && selection.path.kind() == PathKind::W4A8 {
                prop_assert_eq!(selection.path.accelerator(), Accelerator::Amx);
            }
        }
    }

    /// An error is the truth: nothing that it denies could have been taken.
    #[test]
    fn where_nothing_is_chosen_nothing_could_be(device in any_device(), stored in any_stored(), config in any_config()) {
        for policy in BY_ITSELF.into_iter().chain(PathKind::ALL.map(Policy::Named)) {
            let Err(error) = select(&device, policy, &stored, &config) else { continue };
            let usable = |path| {
                device.kernels.iter().any(|kernels| {
                    kernels.usable(path).is_ok()
                        && (config.use_custom_op || kernels.accelerator == Accelerator::Portable)
                })
            };
            match error {
                SelectError::NoKernels { path, passed_over } => {
                    prop_assert!(!usable(path));
                    prop_assert_eq!(passed_over.len(), device.kernels.len());
                }
                SelectError::Impossible { path } => prop_assert_eq!(stored.fit(path), Fit::Impossible),
                SelectError::QuantizedAgain => prop_assert!(BY_ITSELF.contains(&policy)),
                other => prop_assert!(false, "{}", other),
            }
        }
    }
}
