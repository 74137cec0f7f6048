//! What the processor and the operating system say to AMX.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

/// Whether the processor has the tiles of this version's kernels and their products of int8, and the operating system saves them.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_instructions() -> bool {
    // Leaf 7 says in EDX: bit 24 AMX-TILE, bit 25 AMX-INT8.
    const TILE_AND_INT8: u32 = 0b11 << 24;
    // Leaf 1 says in ECX: the operating system has enabled XGETBV.
    const OSXSAVE: u32 = 1 << 27;
    let highest = __cpuid(0).eax;
    highest >= 0x1d
        && __cpuid_count(7, 0).edx & TILE_AND_INT8 == TILE_AND_INT8
        && __cpuid(1).ecx & OSXSAVE != 0
        && saved()
        && palette()
}

/// Whether the operating system saves the configuration of tiles and what is in them.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "XGETBV is an instruction of its own")]
fn saved() -> bool {
    #[target_feature(enable = "xsave")]
    fn enabled() -> u64 {
        // SAFETY: the caller has seen that the operating system enabled XGETBV, which has the register 0 then.
        unsafe { _xgetbv(0) }
    }
    // Bit 17: TILECFG, bit 18: TILEDATA.
    const BOTH: u64 = 0b11 << 17;
    // SAFETY: OSXSAVE is set only where the processor has XSAVE.
    unsafe { enabled() & BOTH == BOTH }
}

/// Whether tiles are eight of 16 rows of 64 bytes: the first palette, as it is since the first processor.
#[cfg(target_arch = "x86_64")]
fn palette() -> bool {
    let (palettes, first) = (__cpuid_count(0x1d, 0), __cpuid_count(0x1d, 1));
    // EAX: bytes of all tiles, and of one; EBX: bytes of a row, and how many tiles; ECX: rows.
    palettes.eax >= 1 && first.eax == 1024 << 16 | 8192 && first.ebx == 8 << 16 | 64 && first.ecx & 0xffff == 16
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) const fn has_instructions() -> bool {
    false
}

/// Whether the operating system gives this process the tiles: asks it.
///
/// Linux since 5.16 is asked by `arch_prctl`, for all threads of the process; no other system is known to be asked in any way.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[allow(unsafe_code, reason = "a system call that the standard library has not")]
pub(super) fn is_permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    const TILEDATA: u64 = 18;
    let result: i64;
    // SAFETY: the call takes two numbers and writes to no memory; the registers that the kernel changes are named.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILEDATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result == 0
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(super) const fn is_permitted() -> bool {
    false
}
