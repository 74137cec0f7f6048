//! `x86-64-v3`: AVX2, FMA and F16C.

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T1, _mm256_cvtph_ps, _mm256_cvtps_ph,
};

use keepq_blocks::F16;
use keepq_dot::{LANES, Target, Way};

use crate::body::Body;

pulp::simd_type! {
    /// Proof that the machine has AVX2, FMA, F16C and what comes with them.
    pub(crate) struct X86_64V3 {
        pub(crate) sse: "sse",
        pub(crate) sse2: "sse2",
        pub(crate) sse3: "sse3",
        pub(crate) ssse3: "ssse3",
        pub(crate) sse4_1: "sse4.1",
        pub(crate) sse4_2: "sse4.2",
        pub(crate) popcnt: "popcnt",
        pub(crate) avx: "avx",
        pub(crate) avx2: "avx2",
        pub(crate) bmi1: "bmi1",
        pub(crate) bmi2: "bmi2",
        pub(crate) fma: "fma",
        pub(crate) f16c: "f16c",
        pub(crate) lzcnt: "lzcnt",
    }
}

impl Target for X86_64V3 {
    const WAY: Way = Way::Octets;
    type F32s = __m256;
    type I32s = __m256i;
    type Bytes = __m256i;
    type Partial = __m256i; // two i16 a lane
    type Pairs = __m256i;
    type Spreads = [__m256i; 4];

    #[inline(always)]
    fn load_bytes(self, x: &[u8; 32]) -> __m256i {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn load_codes(self, x: &[i8; 32]) -> __m256i {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn store_bytes(self, x: __m256i, to: &mut [u8; 32]) {
        *to = pulp::cast(x);
    }

    #[inline(always)]
    fn splat_bytes(self, x: [i8; 4]) -> __m256i {
        self.avx._mm256_set1_epi32(i32::from_le_bytes(x.map(i8::cast_unsigned)))
    }

    #[inline(always)]
    fn field(self, x: __m256i, shift: u32, mask: u8) -> __m256i {
        // Sixteen bits at a time: what comes in from the other byte is masked off.
        let shifted = self.avx2._mm256_srl_epi16(x, self.sse2._mm_cvtsi32_si128(shift.cast_signed()));
        self.avx2._mm256_and_si256(shifted, self.avx._mm256_set1_epi8(mask.cast_signed()))
    }

    #[inline(always)]
    fn join(self, low: __m256i, high: __m256i, shift: u32) -> __m256i {
        let shifted = self.avx2._mm256_sll_epi16(high, self.sse2._mm_cvtsi32_si128(shift.cast_signed()));
        self.avx2._mm256_or_si256(low, shifted)
    }

    #[inline(always)]
    fn nothing(self) -> __m256i {
        self.avx._mm256_setzero_si256()
    }

    #[inline(always)]
    fn add_products(self, sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        self.avx2._mm256_add_epi16(sum, self.avx2._mm256_maddubs_epi16(unsigned, signed))
    }

    #[inline(always)]
    fn signed_products(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_maddubs_epi16(self.avx2._mm256_abs_epi8(a), self.avx2._mm256_sign_epi8(b, a))
    }

    #[inline(always)]
    fn widen(self, total: __m256i, sum: __m256i) -> __m256i {
        self.dot_lanes(total, sum, self.avx._mm256_set1_epi16(1))
    }

    #[inline(always)]
    fn widen_scaled(self, total: __m256i, sum: __m256i, scale: __m256i) -> __m256i {
        self.dot_lanes(total, sum, scale)
    }

    #[inline(always)]
    fn dot_pairs(self, total: __m256i, a: __m256i, b: [i16; 2]) -> __m256i {
        self.dot_lanes(total, a, self.splat_pair(b))
    }

    #[inline(always)]
    fn unsigned_pairs(self, x: __m256i, [a, b]: [usize; 2]) -> __m256i {
        self.avx2._mm256_shuffle_epi8(x, pulp::cast(LOW_BYTES[a][b]))
    }

    #[inline(always)]
    fn signed_pairs(self, x: __m256i, [a, b]: [usize; 2]) -> __m256i {
        self.avx2._mm256_srai_epi16::<8>(self.avx2._mm256_shuffle_epi8(x, pulp::cast(HIGH_BYTES[a][b])))
    }

    #[inline(always)]
    fn mul_pairs(self, x: __m256i, by: i16) -> __m256i {
        self.avx2._mm256_mullo_epi16(x, self.avx._mm256_set1_epi16(by))
    }

    #[inline(always)]
    fn lane_bits(self, x: __m256i, first: usize, set: u8) -> __m256i {
        let byte = self.avx2._mm256_shuffle_epi8(x, pulp::cast(BYTE_OF_LANE[first / 8]));
        let bit = self.avx._mm256_set1_epi32(if first.is_multiple_of(8) {
            0x0804_0201
        } else {
            0x8040_2010_u32.cast_signed()
        });
        let is_set = self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_and_si256(byte, bit), bit);
        self.avx2._mm256_and_si256(is_set, self.avx._mm256_set1_epi8(set.cast_signed()))
    }

    #[inline(always)]
    fn widen_halves(self, x: __m256i) -> [__m256; 2] {
        // Of 16 bytes the first ones, then the second ones; then of all.
        let by_halves = self.avx2._mm256_shuffle_epi8(x, pulp::cast(HALVES));
        let all = self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(by_halves);
        let [first, second]: [__m128i; 2] = pulp::cast(all);
        [self.cvtph(first), self.cvtph(second)]
    }

    #[inline(always)]
    fn settled(self, sum: __m256i) -> __m256i {
        // SAFETY: the token proves that the machine has AVX2.
        unsafe { in_order(sum) }
    }

    #[inline(always)]
    fn settled_i32(self, sum: __m256i) -> __m256i {
        // SAFETY: the token proves that the machine has AVX2.
        unsafe { in_order(sum) }
    }

    #[inline(always)]
    fn settled_f32(self, x: __m256) -> __m256 {
        // SAFETY: the token proves that the machine has AVX2.
        pulp::cast(unsafe { in_order(pulp::cast(x)) })
    }

    #[inline(always)]
    fn join_pairs(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_blend_epi16::<0xaa>(a, b)
    }

    #[inline(always)]
    fn sums_of_pairs(self, a: __m256i, b: __m256i) -> __m256i {
        // By 16 bytes of a and b in turn.
        let sums = self.avx2._mm256_hadd_epi16(a, b);
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(sums)
    }

    #[inline(always)]
    fn load_pairs(self, x: &[[i16; 2]; LANES]) -> __m256i {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn store_pairs(self, x: __m256i, to: &mut [[i16; 2]; LANES]) {
        *to = pulp::cast(x);
    }

    #[inline(always)]
    fn words(self, [a, b, c, d, e, f, g, h]: [&[u8; 16]; LANES]) -> [__m256i; 4] {
        let both = |low: &[u8; 16], high: &[u8; 16]| self.avx._mm256_set_m128i(pulp::cast(*high), pulp::cast(*low));
        let (ae, bf, cg, dh) = (both(a, e), both(b, f), both(c, g), both(d, h));
        let (ab0, ab1) = (self.avx2._mm256_unpacklo_epi32(ae, bf), self.avx2._mm256_unpackhi_epi32(ae, bf));
        let (cd0, cd1) = (self.avx2._mm256_unpacklo_epi32(cg, dh), self.avx2._mm256_unpackhi_epi32(cg, dh));
        [
            self.avx2._mm256_unpacklo_epi64(ab0, cd0),
            self.avx2._mm256_unpackhi_epi64(ab0, cd0),
            self.avx2._mm256_unpacklo_epi64(ab1, cd1),
            self.avx2._mm256_unpackhi_epi64(ab1, cd1),
        ]
    }

    #[inline(always)]
    fn widen_f16(self, x: [F16; LANES]) -> __m256 {
        let mut bits = [0; LANES];
        for (bits, x) in bits.iter_mut().zip(x) {
            *bits = x.to_bits();
        }
        self.cvtph(pulp::cast(bits))
    }

    #[inline(always)]
    fn narrow_f16(self, x: __m256) -> [F16; LANES] {
        // SAFETY: the token proves that the machine has F16C; pulp has no method for this instruction.
        let bits: [u16; LANES] = pulp::cast(unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x) });
        let mut narrow = [F16::default(); LANES];
        for (narrow, bits) in narrow.iter_mut().zip(bits) {
            *narrow = F16::from_bits(bits);
        }
        narrow
    }

    #[inline(always)]
    fn to_bf16(self, x: __m256) -> __m256 {
        let bits: __m256i = pulp::cast(x);
        let odd = self.avx2._mm256_and_si256(self.avx2._mm256_srli_epi32::<16>(bits), self.avx._mm256_set1_epi32(1));
        let half = self.avx2._mm256_add_epi32(odd, self.avx._mm256_set1_epi32(0x7fff));
        let rounded = self.avx2._mm256_add_epi32(bits, half);
        let upper = self.avx2._mm256_and_si256(rounded, self.avx._mm256_set1_epi32(0xffff_0000_u32.cast_signed()));
        // Adding would carry a NaN's bits into its sign.
        let is_nan = self.avx._mm256_cmp_ps::<_CMP_UNORD_Q>(x, x);
        self.avx._mm256_blendv_ps(pulp::cast(upper), x, is_nan)
    }

    #[inline(always)]
    fn widen_bf16s(self, x: __m256i) -> [__m256; 2] {
        let second = self.avx2._mm256_and_si256(x, self.avx._mm256_set1_epi32(0xffff_0000_u32.cast_signed()));
        [pulp::cast(self.avx2._mm256_slli_epi32::<16>(x)), pulp::cast(second)]
    }

    // Of 16 bytes of both in turn, then of all.
    #[inline(always)]
    fn unpair(self, low: __m256, high: __m256) -> [__m256; 2] {
        let even = self.avx._mm256_shuffle_ps::<0b10_00_10_00>(low, high);
        let odd = self.avx._mm256_shuffle_ps::<0b11_01_11_01>(low, high);
        [even, odd].map(|x| {
            let x: __m256i = pulp::cast(x);
            pulp::cast(self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(x))
        })
    }

    // Bytes are widened before they are split: the loads do it.
    #[inline(always)]
    fn widen_nibbles(self, x: [[u8; 8]; 2]) -> [__m256; 4] {
        let [low, high]: [u64; 2] = pulp::cast(x);
        let wide = [low, high].map(|eight| self.avx2._mm256_cvtepu8_epi32(pulp::cast([eight, 0])));
        let low = |x| self.avx2._mm256_and_si256(x, self.avx._mm256_set1_epi32(15));
        let high = |x| self.avx2._mm256_srli_epi32::<4>(x);
        [low(wide[0]), low(wide[1]), high(wide[0]), high(wide[1])].map(|x| self.avx._mm256_cvtepi32_ps(x))
    }

    #[inline(always)]
    fn sub_bytes(self, x: __m256i, by: u8) -> __m256i {
        self.avx2._mm256_sub_epi8(x, self.avx._mm256_set1_epi8(by.cast_signed()))
    }

    #[inline(always)]
    fn widen_pairs(self, x: [i8; 16]) -> __m256i {
        self.avx2._mm256_cvtepi8_epi16(pulp::cast(x))
    }

    // Where the compiler knows the shuffles it makes two of each, one of them across the halves of a register.
    #[inline(always)]
    fn spreads(self) -> [__m256i; 4] {
        core::hint::black_box(SPREAD.map(pulp::cast))
    }

    #[inline(always)]
    fn spread(self, by: [__m256i; 4], x: __m256i, lane: usize) -> __m256i {
        let half = if lane < 4 {
            self.avx2._mm256_permute2x128_si256::<0x00>(x, x)
        } else {
            self.avx2._mm256_permute2x128_si256::<0x11>(x, x)
        };
        self.avx2._mm256_shuffle_epi8(half, by[lane % 4])
    }

    #[inline(always)]
    fn dot_lanes(self, total: __m256i, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_add_epi32(total, self.avx2._mm256_madd_epi16(a, b))
    }

    #[inline(always)]
    fn sum_lanes(self, [a, b, c, d, e, f, g, h]: [__m256i; 8]) -> __m256i {
        let twos = |a, b| self.avx2._mm256_hadd_epi32(a, b);
        self.add_halves(twos(twos(a, b), twos(c, d)), twos(twos(e, f), twos(g, h)))
    }

    #[inline(always)]
    fn transpose(self, rows: [__m256; 8]) -> [__m256; 8] {
        self.columns(rows.map(pulp::cast)).map(pulp::cast)
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> __m256i {
        self.avx._mm256_set1_epi32(x)
    }

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
    fn to_f32(self, x: __m256i) -> __m256 {
        self.avx._mm256_cvtepi32_ps(x)
    }

    // Lanes 0 to 3 and 4 to 7 of two registers, then of each four the first two and the last two, then what is left of all.
    #[inline(always)]
    fn sum_float_lanes(self, [a, b, c, d, e, f, g, h]: [__m256; LANES]) -> __m256 {
        let halves = |x, y| {
            let low = self.avx._mm256_permute2f128_ps::<0x20>(x, y);
            self.avx._mm256_add_ps(low, self.avx._mm256_permute2f128_ps::<0x31>(x, y))
        };
        let quarters = |x, y| {
            let low = self.avx._mm256_shuffle_ps::<0b01_00_01_00>(x, y);
            self.avx._mm256_add_ps(low, self.avx._mm256_shuffle_ps::<0b11_10_11_10>(x, y))
        };
        let (abef, cdgh) = (quarters(halves(a, e), halves(b, f)), quarters(halves(c, g), halves(d, h)));
        let even = self.avx._mm256_shuffle_ps::<0b10_00_10_00>(abef, cdgh);
        self.avx._mm256_add_ps(even, self.avx._mm256_shuffle_ps::<0b11_01_11_01>(abef, cdgh))
    }

    // Not to L1, which what is ahead would push the present rows and tokens out of: half the speed.
    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        self.sse._mm_prefetch::<_MM_HINT_T1>(at.cast());
    }

    // Closures that capture at most eight words are passed in registers: a call a strip.
    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}

impl X86_64V3 {
    /// The pair in all lanes.
    #[inline(always)]
    pub(crate) fn splat_pair(self, [a, b]: [i16; 2]) -> __m256i {
        self.avx._mm256_set1_epi32(i32::from(a.cast_unsigned()) | i32::from(b) << 16)
    }

    /// Eight binary16 numbers as floats.
    #[inline(always)]
    fn cvtph(self, x: __m128i) -> __m256 {
        // SAFETY: the token proves that the machine has F16C; pulp has no method for this instruction.
        unsafe { _mm256_cvtph_ps(x) }
    }

    /// Words of eight rows as columns.
    #[inline(always)]
    fn columns(self, [a, b, c, d, e, f, g, h]: [__m256i; 8]) -> [__m256i; 8] {
        let low = |a, b| self.avx2._mm256_unpacklo_epi32(a, b);
        let high = |a, b| self.avx2._mm256_unpackhi_epi32(a, b);
        let (ab0, ab1, cd0, cd1) = (low(a, b), high(a, b), low(c, d), high(c, d));
        let (ef0, ef1, gh0, gh1) = (low(e, f), high(e, f), low(g, h), high(g, h));
        let low = |a, b| self.avx2._mm256_unpacklo_epi64(a, b);
        let high = |a, b| self.avx2._mm256_unpackhi_epi64(a, b);
        let first = [low(ab0, cd0), high(ab0, cd0), low(ab1, cd1), high(ab1, cd1)];
        let last = [low(ef0, gh0), high(ef0, gh0), low(ef1, gh1), high(ef1, gh1)];
        let low = |i: usize| self.avx2._mm256_permute2x128_si256::<0x20>(first[i], last[i]);
        let high = |i: usize| self.avx2._mm256_permute2x128_si256::<0x31>(first[i], last[i]);
        [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
    }

    /// The sums of the two halves of `first`, then those of `last`.
    #[inline(always)]
    fn add_halves(self, first: __m256i, last: __m256i) -> __m256i {
        let low = self.avx2._mm256_permute2x128_si256::<0x20>(first, last);
        let high = self.avx2._mm256_permute2x128_si256::<0x31>(first, last);
        self.avx2._mm256_add_epi32(low, high)
    }
}

/// One of a lane's four bytes, four times.
const BYTE_OF_LANE: [[i8; 32]; 4] = {
    let mut all = [[0; 32]; 4];
    let mut i = 0;
    while i < 4 * 32 {
        all[i / 32][i % 32] = (i % 16 / 4 * 4 + i / 32) as i8; // shuffles stay within 16 bytes
        i += 1;
    }
    all
};

/// Of 16 bytes the first halves of lanes, then the second ones.
const HALVES: [i8; 32] =
    [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15];

/// For two of a lane's four bytes, where each byte of a shuffled lane comes from; -1 makes a zero.
const LOW_BYTES: [[[i8; 32]; 4]; 4] = shuffles(0);

/// The same, the bytes in the upper halves of their i16.
const HIGH_BYTES: [[[i8; 32]; 4]; 4] = shuffles(1);

/// For the words of 16 bytes two by two, the shuffle that repeats the first in the lower half and the second in the upper one.
const SPREAD: [[i8; 32]; 4] = {
    let mut all = [[0; 32]; 4];
    let mut i = 0;
    while i < 4 * 32 {
        let (pair, byte) = (i / 32, i % 32);
        all[pair][byte] = (4 * pair + 2 * (byte / 16) + byte % 2) as i8;
        i += 1;
    }
    all
};

const fn shuffles(half: usize) -> [[[i8; 32]; 4]; 4] {
    let mut all = [[[-1; 32]; 4]; 4];
    let mut i = 0;
    while i < 4 * 4 * LANES {
        let (a, b, lane) = (i / (4 * LANES), i / LANES % 4, i % LANES);
        let first = (4 * lane % 16) as i8; // shuffles stay within 16 bytes
        all[a][b][4 * lane + half] = first + a as i8;
        all[a][b][4 * lane + 2 + half] = first + b as i8;
        i += 1;
    }
    all
}

/// The sum as it is. The compiler takes it for the result of instructions that it neither looks into nor moves across each other.
///
/// # Safety
/// The machine has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn in_order(mut sum: __m256i) -> __m256i {
    // SAFETY: there is no instruction in it, only a comment: nothing is read or written.
    unsafe { asm!("/* {0} */", inout(ymm_reg) sum, options(nomem, nostack, preserves_flags)) };
    sum
}
