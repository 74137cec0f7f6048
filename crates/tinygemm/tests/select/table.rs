//! Machines by policies by what is stored, as a snapshot.

use std::fmt::Write;

use keepq_tinygemm::select::Accelerator::{Avx2, Avx2Vnni, Avx512, Avx512Vnni, Neon, NeonDotprod, NeonI8mm, Portable};
use keepq_tinygemm::select::{Config, Device, PathKind, Permission, Policy, SelfTest, Stored, select};

use super::{amx, device};

const POLICIES: [Policy; 3] = [Policy::Speed, Policy::Fidelity, Policy::Upstream];

fn devices() -> Vec<(&'static str, Device)> {
    let x86 = [Portable, Avx2, Avx512, Avx512Vnni];
    let with_amx = |permission| {
        let mut device = device(&x86);
        device.kernels.push(amx(permission));
        device
    };
    let mut failed = with_amx(Permission::Granted);
    failed.kernels.iter_mut().skip(3).for_each(|kernels| kernels.self_tests.w4a8 = SelfTest::Failed);
    let mut none_passes = device(&[Portable, Avx2]);
    none_passes.kernels.iter_mut().for_each(|kernels| kernels.self_tests.w4a8 = SelfTest::Failed);
    let mut gates = device(&x86);
    gates.kernels.iter_mut().for_each(|kernels| kernels.int4_speed = true);
    gates.int4_quality = true;
    vec![
        ("AMX, permitted", with_amx(Permission::Granted)),
        ("AMX, refused by the operating system", with_amx(Permission::Refused)),
        ("AMX, the operating system not asked", with_amx(Permission::NotAsked)),
        ("AMX and VNNI, both self-tests failed", failed),
        ("AVX-512 with VNNI", device(&x86)),
        ("AVX-512 without VNNI", device(&[Portable, Avx2, Avx512])),
        ("AVX-VNNI", device(&[Portable, Avx2, Avx2Vnni])),
        ("AVX2 alone", device(&[Portable, Avx2])),
        ("AVX2, no self-test of W4A8 passed", none_passes),
        ("x86 of old", device(&[Portable])),
        ("ARM with i8mm", device(&[Portable, Neon, NeonDotprod, NeonI8mm])),
        ("ARM with dotprod", device(&[Portable, Neon, NeonDotprod])),
        ("ARM with neither", device(&[Portable, Neon])),
        ("AVX-512 with VNNI, both gates of int4 passed", gates),
    ]
}

#[test]
fn what_is_chosen_where() {
    let mut table = String::new();
    for (name, device) in devices() {
        writeln!(table, "{name}").unwrap();
        for policy in POLICIES {
            // One line for all that have it in common.
            let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
            for (what, stored) in stored() {
                let line = choice(&device, policy, &stored);
                match lines.iter_mut().find(|(known, _)| *known == line) {
                    Some((_, names)) => names.push(what),
                    None => lines.push((line, vec![what])),
                }
            }
            for (line, names) in lines {
                writeln!(table, "  {policy:8} of {}: {line}", names.join(", ")).unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// Paths that are named, which does not depend on what else there is.
#[test]
fn what_becomes_of_what_is_stored() {
    let device = device(&[Portable, Avx2]);
    let mut table = String::new();
    for (what, stored) in super::stored() {
        writeln!(table, "{what}").unwrap();
        for path in PathKind::ALL {
            writeln!(table, "  {}", choice(&device, Policy::Named(path), &stored)).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

fn choice(device: &Device, policy: Policy, stored: &Stored) -> String {
    match select(device, policy, stored, &Config::default()) {
        Ok(selection) => selection.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

/// The forms that the choice of a policy differs by.
fn stored() -> [(&'static str, Stored); 4] {
    [("floats", Stored::FLOATS), ("cpu_int4", Stored::CPU_INT4), ("GPTQ", Stored::ZERO_POINTS), ("int4", Stored::INT4)]
}

/// Without custom operators the plain loops run, whatever the machine has.
#[test]
fn the_plain_loops_are_chosen_where_they_are_asked_for() {
    let config = Config { use_custom_op: false, ..Config::default() };
    for (name, device) in devices() {
        for path in PathKind::ALL {
            let Ok(selection) = select(&device, Policy::Named(path), &Stored::FLOATS, &config) else {
                assert_eq!((name, path), ("AVX2, no self-test of W4A8 passed", PathKind::W4A8));
                continue;
            };
            assert_eq!(selection.path.accelerator(), Portable, "{name}");
            assert_eq!(selection.passed_over.len(), device.kernels.len() - 1);
        }
    }
}
