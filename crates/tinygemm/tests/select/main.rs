//! The choice of a path: a table of machines, and what holds on all of them.

mod config;
mod errors;
mod properties;
mod table;

use keepq_tinygemm::select::{Accelerator, Device, Kernels, Permission, SelfTest, SelfTests, Stored};

/// What checkpoints hold, by name.
fn stored() -> [(&'static str, Stored); 7] {
    [
        ("floats", Stored::FLOATS),
        ("GGUF blocks", Stored::BLOCKS),
        ("cpu_int4", Stored::CPU_INT4),
        ("cpu_int4, symmetric", Stored::CPU_INT4_SYMMETRIC),
        ("GPTQ or AWQ", Stored::ZERO_POINTS),
        ("W4A8", Stored::W4A8),
        ("int4", Stored::INT4),
    ]
}

/// Kernels whose self-tests passed, and which need no permission.
fn kernels(accelerator: Accelerator) -> Kernels {
    Kernels {
        accelerator,
        permission: Permission::NotNeeded,
        self_tests: SelfTests::all(SelfTest::Passed),
        int4_speed: false,
    }
}

/// Tiles multiply codes: there are none of the paths by floats.
fn amx(permission: Permission) -> Kernels {
    let self_tests = SelfTests { w4a8: SelfTest::Passed, ..SelfTests::all(SelfTest::Absent) };
    Kernels { permission, self_tests, ..kernels(Accelerator::Amx) }
}

fn device(accelerators: &[Accelerator]) -> Device {
    Device { kernels: accelerators.iter().copied().map(kernels).collect(), int4_quality: false }
}
