//! `x86-64-v3`: AVX2, FMA and F16C.

use keepq_dot::kn::{self, KnMatrix};
use keepq_dot::rows::{self, HeadCache};
use keepq_dot::{Fused, Product, Scratch};

pulp::simd_type! {
    /// Proof that the machine has AVX2, FMA, F16C and what comes with them.
    pub(crate) struct X86_64V3 {
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
    }
}

/// `f32::mul_add` where the compiler has an instruction for it.
#[derive(Clone, Copy)]
struct HardwareFused;

impl Fused for HardwareFused {
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

// `vectorize` passes closures that capture at most eight words in registers, so that it costs a call once a strip.
impl X86_64V3 {
    pub(crate) fn strip(self, product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
        self.vectorize(
            #[inline(always)]
            || keepq_dot::strip::<HardwareFused>(product, y, scratch),
        );
    }

    pub(crate) fn kn_strip(self, x: &[f32], w: KnMatrix<'_>, first: usize, columns: usize, y: &mut [f32]) {
        self.vectorize(
            #[inline(always)]
            || kn::strip::<HardwareFused>(x, w, first, columns, y),
        );
    }

    pub(crate) fn attention(self, q: &[f32], cache: HeadCache<'_>, scale: f32, scores: &mut [f32], out: &mut [f32]) {
        self.vectorize(
            #[inline(always)]
            || rows::attention(q, cache, scale, scores, out),
        );
    }

    pub(crate) fn silu_mul(self, gate: &mut [f32], up: &[f32]) {
        self.vectorize(
            #[inline(always)]
            || rows::silu_mul(gate, up),
        );
    }
}
