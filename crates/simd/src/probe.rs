//! [`probe`]: the machine at hand, for `keepq_tinygemm::select`.

use keepq_tinygemm::select::{Accelerator, Device, Kernels, PathKind, Permission, SelfTest, SelfTests};

use crate::Tier;

/// The tiers on which `xtask gate` found per-channel int4 faster than int8 in every row (`docs/PERFORMANCE.md`, "4-bit paths").
const INT4_SPEED: [Accelerator; 2] = [Accelerator::Avx2, Accelerator::Avx512Vnni];

/// Describes the machine at hand: the tiers that it has and AMX, each with what the operating system says and what its kernels
/// compute ([`Tier::self_test`]). It takes some milliseconds: call it once.
///
/// AMX is listed where the processor has it. This version has no kernels for it and does not ask for permission, so that it is never
/// chosen. [`Device::int4_quality`] is `false`: it belongs to a model, and is the caller's to set.
///
/// ```
/// use keepq_simd::probe;
/// use keepq_tinygemm::select::{Config, Policy, Stored, select};
///
/// let selection = select(&probe(), Policy::Fidelity, &Stored::CPU_INT4, &Config::default())?;
/// println!("{selection}"); // w4a16-avx2 on x86-64-v3: bf16 activations lose the least; weights as stored
/// # Ok::<(), keepq_tinygemm::select::SelectError>(())
/// ```
#[must_use]
pub fn probe() -> Device {
    let tiers = Tier::available().into_iter().filter_map(|tier| {
        let accelerator = Accelerator::from_name(tier.name())?;
        let [w4a16, w4a8, int4, fallback] =
            PathKind::ALL.map(|path| if tier.self_test(path) { SelfTest::Passed } else { SelfTest::Failed });
        Some(Kernels {
            accelerator,
            permission: Permission::NotNeeded,
            self_tests: SelfTests { w4a16, w4a8, int4, fallback },
            int4_speed: INT4_SPEED.contains(&accelerator),
        })
    });
    let amx = has_amx().then_some(Kernels {
        accelerator: Accelerator::Amx,
        permission: Permission::NotAsked,
        self_tests: SelfTests::all(SelfTest::Absent),
        int4_speed: false,
    });
    Device { kernels: tiers.chain(amx).collect(), int4_quality: false }
}

/// Whether the processor has AMX's tiles and their products of int8.
#[cfg(target_arch = "x86_64")]
fn has_amx() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count};

    // Leaf 7 says in EDX: bit 24 AMX-TILE, bit 25 AMX-INT8.
    const TILE_AND_INT8: u32 = 0b11 << 24;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & TILE_AND_INT8 == TILE_AND_INT8
}

#[cfg(not(target_arch = "x86_64"))]
const fn has_amx() -> bool {
    false
}
