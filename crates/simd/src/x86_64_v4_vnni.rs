//! `x86-64-v4-vnni`: AVX-512 and its products of bytes, in registers of 256 bits.

use core::arch::x86_64::{__m256, __m256i, _mm256_dpbusd_epi32, _mm256_dpwssd_epi32};

use keepq_blocks::F16;
use keepq_dot::{LANES, Target, Way};

use crate::x86_64_v3::{Body, X86_64V3};

pulp::simd_type! {
    /// Proof that the machine has AVX-512 (F, BW, CD, DQ, VL), AVX512-VNNI and what `x86-64-v3` has.
    pub(crate) struct X86_64V4Vnni {
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
        avx512vnni: "avx512vnni",
    }
}

impl X86_64V4Vnni {
    /// What the machine has as well.
    #[inline(always)]
    fn v3(self) -> X86_64V3 {
        let Self { sse, sse2, sse3, ssse3, sse4_1, sse4_2, popcnt, avx, avx2, bmi1, bmi2, fma, f16c, lzcnt, .. } = self;
        X86_64V3 { sse, sse2, sse3, ssse3, sse4_1, sse4_2, popcnt, avx, avx2, bmi1, bmi2, fma, f16c, lzcnt }
    }
}

/// Operations that are those of `x86-64-v3`: compiled for this tier they have twice as many registers.
macro_rules! as_v3 {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $ty),*) $(-> $out)? {
                self.v3().$name($($arg),*)
            }
        )*
    };
}

impl Target for X86_64V4Vnni {
    const WAY: Way = Way::Octets;
    const WIDE_PARTIAL: bool = true;
    type F32s = __m256;
    type I32s = __m256i;
    type Bytes = __m256i;
    type Partial = __m256i; // one i32 a lane
    type Pairs = __m256i;
    type Spreads = [__m256i; 4];

    as_v3! {
        fn load_bytes(x: &[u8; 32]) -> __m256i;
        fn load_codes(x: &[i8; 32]) -> __m256i;
        fn store_bytes(x: __m256i, to: &mut [u8; 32]);
        fn splat_bytes(x: [i8; 4]) -> __m256i;
        fn field(x: __m256i, shift: u32, mask: u8) -> __m256i;
        fn join(low: __m256i, high: __m256i, shift: u32) -> __m256i;
        fn nothing() -> __m256i;
        fn unsigned_pairs(x: __m256i, which: [usize; 2]) -> __m256i;
        fn signed_pairs(x: __m256i, which: [usize; 2]) -> __m256i;
        fn mul_pairs(x: __m256i, by: i16) -> __m256i;
        fn lane_bits(x: __m256i, first: usize, set: u8) -> __m256i;
        fn widen_halves(x: __m256i) -> [__m256; 2];
        fn join_pairs(a: __m256i, b: __m256i) -> __m256i;
        fn sums_of_pairs(a: __m256i, b: __m256i) -> __m256i;
        fn load_pairs(x: &[[i16; 2]; LANES]) -> __m256i;
        fn store_pairs(x: __m256i, to: &mut [[i16; 2]; LANES]);
        fn words(rows: [&[u8; 16]; LANES]) -> [__m256i; 4];
        fn widen_f16(x: [F16; LANES]) -> __m256;
        fn narrow_f16(x: __m256) -> [F16; LANES];
        fn to_bf16(x: __m256) -> __m256;
        fn widen_bf16s(x: __m256i) -> [__m256; 2];
        fn unpair(low: __m256, high: __m256) -> [__m256; 2];
        fn widen_nibbles(x: [[u8; 8]; 2]) -> [__m256; 4];
        fn sub_bytes(x: __m256i, by: u8) -> __m256i;
        fn widen_pairs(x: [i8; 16]) -> __m256i;
        fn spreads() -> [__m256i; 4];
        fn spread(by: [__m256i; 4], x: __m256i, lane: usize) -> __m256i;
        fn sum_lanes(rows: [__m256i; 8]) -> __m256i;
        fn transpose(rows: [__m256; 8]) -> [__m256; 8];
        fn splat_i32(x: i32) -> __m256i;
        fn splat(x: f32) -> __m256;
        fn load(x: &[f32; LANES]) -> __m256;
        fn store(x: __m256, to: &mut [f32; LANES]);
        fn add(a: __m256, b: __m256) -> __m256;
        fn mul(a: __m256, b: __m256) -> __m256;
        fn fma(a: __m256, b: __m256, c: __m256) -> __m256;
        fn to_f32(x: __m256i) -> __m256;
        fn sum_float_lanes(x: [__m256; LANES]) -> __m256;
        fn prefetch(at: *const u8);
    }

    #[inline(always)]
    fn add_products(self, sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        // SAFETY: the token proves that the machine has AVX512-VNNI and AVX512-VL; pulp has no method for this instruction.
        unsafe { _mm256_dpbusd_epi32(sum, unsigned, signed) }
    }

    #[inline(always)]
    fn signed_products(self, a: __m256i, b: __m256i) -> __m256i {
        self.add_products(self.nothing(), self.avx2._mm256_abs_epi8(a), self.avx2._mm256_sign_epi8(b, a))
    }

    #[inline(always)]
    fn widen(self, total: __m256i, sum: __m256i) -> __m256i {
        self.avx2._mm256_add_epi32(total, sum)
    }

    #[inline(always)]
    fn widen_scaled(self, total: __m256i, sum: __m256i, scale: __m256i) -> __m256i {
        let scale = self.avx2._mm256_srai_epi32::<16>(scale);
        self.avx2._mm256_add_epi32(total, self.avx2._mm256_mullo_epi32(sum, scale))
    }

    #[inline(always)]
    fn dot_pairs(self, total: __m256i, a: __m256i, b: [i16; 2]) -> __m256i {
        self.dot_lanes(total, a, self.v3().splat_pair(b))
    }

    #[inline(always)]
    fn dot_lanes(self, total: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the token proves that the machine has AVX512-VNNI and AVX512-VL; pulp has no method for this instruction.
        unsafe { _mm256_dpwssd_epi32(total, a, b) }
    }

    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}
