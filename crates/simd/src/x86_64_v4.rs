//! `x86-64-v4`: AVX-512 without products of bytes, in registers of 256 bits.
//!
//! The bodies are those of `x86-64-v3`, compiled for twice as many registers, masks and logic of three operands. Not in registers of
//! 512 bits: the processors that have AVX-512 and not VNNI (Skylake-X and its like) lower their clock for them, and a lane is a row, of which
//! eight share what is read of a token.

use keepq_dot::{Target, Way};

use crate::body::Body;
use crate::over_v3::{operations_of_v3, order_of_v3, products_of_v3};
use crate::x86_64_v3::X86_64V3;

pulp::simd_type! {
    /// Proof that the machine has AVX-512 (F, BW, CD, DQ, VL) and what `x86-64-v3` has.
    pub(crate) struct X86_64V4 {
        sse: "sse",
        sse2: "sse2",
        sse3: "sse3",
        ssse3: "ssse3",
        sse4_1: "sse4.1",
        sse4_2: "sse4.2",
        popcnt: "popcnt",
        avx: "avx",
        avx2: "avx2",
        bmi1: "bmi1",
        bmi2: "bmi2",
        fma: "fma",
        f16c: "f16c",
        lzcnt: "lzcnt",
        avx512f: "avx512f",
        avx512bw: "avx512bw",
        avx512cd: "avx512cd",
        avx512dq: "avx512dq",
        avx512vl: "avx512vl",
    }
}

impl X86_64V4 {
    /// What the machine has as well.
    #[inline(always)]
    fn v3(self) -> X86_64V3 {
        let Self { sse, sse2, sse3, ssse3, sse4_1, sse4_2, popcnt, avx, avx2, bmi1, bmi2, fma, f16c, lzcnt, .. } = self;
        X86_64V3 { sse, sse2, sse3, ssse3, sse4_1, sse4_2, popcnt, avx, avx2, bmi1, bmi2, fma, f16c, lzcnt }
    }
}

impl Target for X86_64V4 {
    const WAY: Way = Way::Octets;

    operations_of_v3!();
    products_of_v3!();
    order_of_v3!();

    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}
