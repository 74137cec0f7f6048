//! `x86-64-v3`: AVX2, FMA and F16C.

use core::arch::x86_64::{__m256, __m256i};

use keepq_dot::{LANES, Target};

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

impl Target for X86_64V3 {
    const IN_PLACE_TOKENS: usize = 2;
    type F32s = __m256;
    type I32s = __m256i;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        self.avx._mm256_set1_ps(x)
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> __m256 {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn store(self, x: __m256, to: &mut [f32; LANES]) {
        *to = pulp::cast(x);
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_add_ps(a, b)
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_mul_ps(a, b)
    }

    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.fma._mm256_fmadd_ps(a, b, c)
    }

    #[inline(always)]
    fn exact(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.fma._mm256_fmadd_ps(a, b, c)
    }

    #[inline(always)]
    fn to_i32(self, x: __m256) -> __m256i {
        self.avx._mm256_cvtps_epi32(x)
    }

    #[inline(always)]
    fn add_i32(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_add_epi32(a, b)
    }

    #[inline(always)]
    fn to_f32(self, x: __m256i) -> __m256 {
        self.avx._mm256_cvtepi32_ps(x)
    }

    // Closures that capture at most eight words are passed in registers: a call a strip.
    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}

/// A body to be compiled for the token's features.
///
/// `vectorize` takes `FnOnce` closures as well, but the call of one that is `FnMut` goes through a shim that the compiler
/// makes, does not inline into large bodies, and compiles for the baseline: three times slower, and nothing says so.
struct Body<F>(F);

impl<F: FnMut()> pulp::NullaryFnOnce for Body<F> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        (self.0)();
    }
}
