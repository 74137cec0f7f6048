//! Names, shapes and refusals.

use keepq_tinygemm::select::{
    Accelerator, Config, Device, Fit, PathKind, Policy, SelectError, SelfTest, Stored, select,
};
use keepq_tinygemm::w4a16::Layout;

use super::{device, stored};

#[test]
fn names_lead_back_to_what_they_name() {
    for path in PathKind::ALL {
        assert_eq!(path.name().parse(), Ok(path));
        assert_eq!(path.name().parse(), Ok(Policy::Named(path)));
    }
    for policy in [Policy::Speed, Policy::Fidelity, Policy::Upstream] {
        assert_eq!(policy.name().parse(), Ok(policy));
    }
    assert_eq!("speed".parse(), Ok(Policy::Speed));
    for accelerator in Accelerator::ALL {
        assert_eq!(Accelerator::from_name(accelerator.name()), Some(accelerator));
    }
    assert_eq!(Accelerator::from_name("avx9"), None);
    let error = "w8a8".parse::<PathKind>().unwrap_err();
    assert_eq!(error.to_string(), "no such path: there are w4a16, w4a8, int4, fallback");
    let error = "w8a8".parse::<Policy>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "no such path or policy: there are w4a16, w4a8, int4, fallback, auto, fidelity, upstream"
    );
}

#[test]
fn shapes_rule_paths_out() {
    let fits = |n, k, group| PathKind::ALL.map(|path| Stored::FLOATS.with_matrix(n, k, group).fit(path));
    let (yes, no) = (Fit::Quantized, Fit::Impossible);
    assert_eq!(fits(64, 256, 64), [yes; 4]);
    // W4A16, W4A8, int4, the fallback.
    assert_eq!(fits(48, 256, 64), [yes, no, yes, yes]);
    assert_eq!(fits(40, 256, 64), [no, no, yes, no]);
    assert_eq!(fits(64, 100, 64), [no, no, yes, no]);
    assert_eq!(fits(64, 256, 48), [no, no, yes, no]);
    assert_eq!(fits(64, (1 << 20) + 64, 64), [yes, yes, no, yes]);
    // One such matrix among others is enough.
    let stored = Stored::FLOATS.with_matrix(48, 256, 64).with_matrix(64, 256, 64);
    assert_eq!(stored.w4a8, Fit::Impossible);
}

#[test]
fn what_cannot_be_says_why() {
    let avx2 = device(&[Accelerator::Portable, Accelerator::Avx2]);
    let config = Config::default();
    let ragged = Stored::FLOATS.with_matrix(48, 256, 64);
    let error = select(&avx2, Policy::Named(PathKind::W4A8), &ragged, &config).unwrap_err();
    assert_eq!(error, SelectError::Impossible { path: PathKind::W4A8 });
    assert_eq!(error.to_string(), "w4a8: there are matrices of a shape that it has no form for");
    let selection = select(&avx2, Policy::Speed, &ragged, &config).unwrap();
    assert_eq!(
        selection.to_string(),
        "w4a16-avx2 on x86-64-v3: w4a8 has no form for the weights; weights are quantized"
    );

    let mut failed = avx2.clone();
    failed.kernels.iter_mut().for_each(|kernels| kernels.self_tests.w4a16 = SelfTest::Failed);
    let error = select(&failed, Policy::Named(PathKind::W4A16), &Stored::CPU_INT4, &config).unwrap_err();
    assert_eq!(
        error.to_string(),
        "w4a16: no usable kernels: x86-64-v3 (self-test failed), portable (self-test failed)"
    );
    let error = select(&device(&[]), Policy::Speed, &Stored::FLOATS, &config).unwrap_err();
    assert_eq!(error.to_string(), "w4a16: no usable kernels");

    for group_size in [0, 16, 48, 512] {
        let config = Config { group_size, ..config };
        for (_, stored) in stored() {
            let error = select(&avx2, Policy::Speed, &stored, &config).unwrap_err();
            assert_eq!(error, SelectError::Group { group_size });
        }
    }
    let error = SelectError::Group { group_size: 48 };
    assert_eq!(error.to_string(), "group_size: expected 32, 64, 128 or 256, found 48");
}

#[test]
fn a_layout_that_is_stored_is_kept_and_others_are_the_policys() {
    use keepq_tinygemm::select::Accelerator::{Avx2, Avx512, Neon, Portable};
    let layout = |device: &Device, policy, stored: &Stored| {
        let selection = select(device, policy, stored, &Config::default()).unwrap();
        selection.path.bytes_name()
    };
    let floats = Stored::FLOATS;
    for (accelerators, upstream) in [
        (&[Portable, Avx2, Avx512][..], "w4a16-avx512"),
        (&[Portable, Avx2], "w4a16-avx2"),
        (&[Portable, Neon], "w4a16-scalar"),
        (&[Portable], "w4a16-scalar"),
    ] {
        let device = device(accelerators);
        assert_eq!(layout(&device, Policy::Upstream, &floats), upstream);
        for policy in [Policy::Fidelity, Policy::Named(PathKind::W4A16)] {
            assert_eq!(layout(&device, policy, &floats), "w4a16-avx2");
        }
        for policy in [Policy::Upstream, Policy::Fidelity] {
            assert_eq!(layout(&device, policy, &Stored::CPU_INT4.packed(Layout::Scalar)), "w4a16-scalar");
        }
    }
}
