//! `neon-dotprod`: products of bytes that are added up in 32 bits.

use core::arch::aarch64::{int32x4_t, uint8x16_t};
use core::arch::asm;

use keepq_dot::{Target, Way};

use crate::body::Body;
use crate::neon::Neon;
use crate::over_neon::{operations_of_neon, products_of_dotprod};

pulp::simd_type! {
    /// Proof that the machine has NEON and its products of bytes.
    pub(crate) struct NeonDotprod {
        neon: "neon",
        dotprod: "dotprod",
    }
}

impl NeonDotprod {
    /// What the machine has as well.
    #[inline(always)]
    fn neon(self) -> Neon {
        Neon { neon: self.neon }
    }
}

impl Target for NeonDotprod {
    const WAY: Way = Way::Octets;

    operations_of_neon!();
    products_of_dotprod!();

    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}

/// In each lane, `sum` and the four products of signed bytes.
///
/// # Safety
/// The machine has dotprod.
#[inline]
#[target_feature(enable = "neon,dotprod")]
pub(crate) unsafe fn sdot(mut sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
    // SAFETY: the caller's; nothing but registers is read or written.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
            sum = inout(vreg) sum,
            a = in(vreg) a,
            b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// In each lane, `sum` and the products of its four signed bytes by quad `q` of `b`, which is below 4 and known where this is compiled.
///
/// # Safety
/// The machine has dotprod.
#[inline]
#[target_feature(enable = "neon,dotprod")]
pub(crate) unsafe fn sdot_by_quad(mut sum: int32x4_t, a: uint8x16_t, b: uint8x16_t, q: usize) -> int32x4_t {
    macro_rules! by {
        ($lane:literal) => {
            // SAFETY: the caller's; nothing but registers is read or written.
            unsafe {
                asm!(
                    concat!("sdot {sum:v}.4s, {a:v}.16b, {b:v}.4b[", $lane, "]"),
                    sum = inout(vreg) sum,
                    a = in(vreg) a,
                    b = in(vreg) b,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
        };
    }
    match q {
        0 => by!(0),
        1 => by!(1),
        2 => by!(2),
        _ => by!(3),
    }
    sum
}
