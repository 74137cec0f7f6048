//! [`probe`]: the machine at hand, for `keepq_tinygemm::select`.

use keepq_tinygemm::select::{Accelerator, Device, Kernels, PathKind, Permission, SelfTest, SelfTests};

use crate::Tier;
use crate::amx::{self, Amx, AmxError};

/// The tiers on which `xtask gate` found per-channel int4 faster than int8 in every row (`docs/PERFORMANCE.md`, "4-bit paths").
const INT4_SPEED: [Accelerator; 2] = [Accelerator::Avx2, Accelerator::Avx512Vnni];

/// Describes the machine at hand: the tiers that it has and AMX, each with what the operating system says and what its kernels
/// compute ([`Tier::self_test`]). It takes some milliseconds: call it once.
///
/// AMX is listed where the processor has it: with what [`Amx::enable`] found, or as not asked for where that was not called before. [`Device::int4_quality`] is `false`: it belongs to a model, and is the caller's to set.
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
    let amx = amx::has_instructions().then(|| amx_as_found(Amx::asked()));
    Device { kernels: tiers.chain(amx).collect(), int4_quality: false }
}

/// AMX, which has kernels of two paths.
const fn amx_as_found(found: Option<Result<Amx, AmxError>>) -> Kernels {
    let (permission, result) = match found {
        None => (Permission::NotAsked, SelfTest::Absent),
        Some(Err(AmxError::NotHere | AmxError::Refused)) => (Permission::Refused, SelfTest::Absent),
        Some(Err(AmxError::SelfTest)) => (Permission::Granted, SelfTest::Failed),
        Some(Ok(_)) => (Permission::Granted, SelfTest::Passed),
    };
    let self_tests = SelfTests { w4a8: result, int4: result, ..SelfTests::all(SelfTest::Absent) };
    Kernels { accelerator: Accelerator::Amx, permission, self_tests, int4_speed: false }
}
