//! `x86-64-v3-avxvnni`: AVX2 and products of bytes, without AVX-512.

use core::arch::x86_64::{_mm256_dpbusd_avx_epi32, _mm256_dpwssd_avx_epi32};

use keepq_dot::{Target, Way};

use crate::over_v3::{operations_of_v3, order_of_v3, products_of_vnni};
use crate::x86_64_v3::X86_64V3;

/// Proof that the machine has AVX-VNNI and what `x86-64-v3` has: only [`try_new`](Self::try_new) makes one.
///
/// pulp knows no such feature, so that its macro cannot make this token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct X86_64V3AvxVnni {
    v3: X86_64V3,
}

impl X86_64V3AvxVnni {
    /// The token, where the machine has all of it.
    pub(crate) fn try_new() -> Option<Self> {
        let v3 = X86_64V3::try_new()?;
        is_x86_feature_detected!("avxvnni").then_some(Self { v3 })
    }

    #[inline(always)]
    fn v3(self) -> X86_64V3 {
        self.v3
    }
}

impl Target for X86_64V3AvxVnni {
    const WAY: Way = Way::Octets;

    operations_of_v3!();
    products_of_vnni!(_mm256_dpbusd_avx_epi32, _mm256_dpwssd_avx_epi32);
    order_of_v3!();

    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        // SAFETY: the token proves that the machine has these features.
        unsafe { compiled(body) }
    }
}

/// `body`, compiled for the token's features.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,popcnt,avxvnni")]
fn compiled(mut body: impl FnMut()) {
    body();
}
