//! `neon`: what every AArch64 has, in two registers of 128 bits for eight lanes.

use core::arch::aarch64::{
    float32x4_t, int8x16_t, int16x8_t, int32x4_t, uint8x16_t, uint16x8_t, uint32x4_t, uint64x2_t,
};
use core::arch::asm;

use keepq_blocks::F16;
use keepq_dot::{LANES, Target, Way};

use crate::body::Body;

pulp::simd_type! {
    /// Proof that the machine has NEON.
    pub(crate) struct Neon {
        pub(crate) neon: "neon",
    }
}

/// Lanes of a register.
const HALF: usize = LANES / 2;

impl Target for Neon {
    const WAY: Way = Way::Octets;
    type F32s = [float32x4_t; 2];
    type I32s = [int32x4_t; 2];
    type Bytes = [uint8x16_t; 2];
    type Partial = [int16x8_t; 2]; // two i16 a lane
    type Pairs = [int16x8_t; 2];
    type Spreads = ();

    #[inline(always)]
    fn load_bytes(self, x: &[u8; 32]) -> [uint8x16_t; 2] {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn load_codes(self, x: &[i8; 32]) -> [uint8x16_t; 2] {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn store_bytes(self, x: [uint8x16_t; 2], to: &mut [u8; 32]) {
        *to = pulp::cast(x);
    }

    #[inline(always)]
    fn splat_bytes(self, x: [i8; 4]) -> [uint8x16_t; 2] {
        [pulp::cast(self.neon.vdupq_n_u32(u32::from_le_bytes(x.map(i8::cast_unsigned)))); 2]
    }

    #[inline(always)]
    fn field(self, [a, b]: [uint8x16_t; 2], shift: u32, mask: u8) -> [uint8x16_t; 2] {
        // Shifts to the left by less than nothing.
        let (by, mask) = (self.neon.vdupq_n_s8(-(shift as i8)), self.neon.vdupq_n_u8(mask));
        let one = |x| self.neon.vandq_u8(self.neon.vshlq_u8(x, by), mask);
        [one(a), one(b)]
    }

    #[inline(always)]
    fn join(self, low: [uint8x16_t; 2], high: [uint8x16_t; 2], shift: u32) -> [uint8x16_t; 2] {
        let by = self.neon.vdupq_n_s8(shift as i8);
        let one = |low, high| self.neon.vorrq_u8(low, self.neon.vshlq_u8(high, by));
        [one(low[0], high[0]), one(low[1], high[1])]
    }

    #[inline(always)]
    fn nothing(self) -> [int16x8_t; 2] {
        [self.neon.vdupq_n_s16(0); 2]
    }

    #[inline(always)]
    fn add_products(self, sum: [int16x8_t; 2], unsigned: [uint8x16_t; 2], signed: [uint8x16_t; 2]) -> [int16x8_t; 2] {
        let products = self.signed_products(unsigned, signed);
        [self.neon.vaddq_s16(sum[0], products[0]), self.neon.vaddq_s16(sum[1], products[1])]
    }

    #[inline(always)]
    fn signed_products(self, a: [uint8x16_t; 2], b: [uint8x16_t; 2]) -> [int16x8_t; 2] {
        let one = |a: uint8x16_t, b: uint8x16_t| {
            let (a, b): (int8x16_t, int8x16_t) = (pulp::cast(a), pulp::cast(b));
            let low = self.neon.vmull_s8(self.neon.vget_low_s8(a), self.neon.vget_low_s8(b));
            pair_sums(low, self.neon.vmull_high_s8(a, b))
        };
        [one(a[0], b[0]), one(a[1], b[1])]
    }

    const SIGNED_PRODUCTS: bool = true;

    #[inline(always)]
    fn widen(self, total: [int32x4_t; 2], sum: [int16x8_t; 2]) -> [int32x4_t; 2] {
        [self.neon.vpadalq_s16(total[0], sum[0]), self.neon.vpadalq_s16(total[1], sum[1])]
    }

    #[inline(always)]
    fn widen_scaled(self, total: [int32x4_t; 2], sum: [int16x8_t; 2], scale: [int16x8_t; 2]) -> [int32x4_t; 2] {
        self.add_scaled(total, sum.map(|sum| self.neon.vpaddlq_s16(sum)), scale)
    }

    #[inline(always)]
    fn dot_pairs(self, total: [int32x4_t; 2], a: [int16x8_t; 2], [x, y]: [i16; 2]) -> [int32x4_t; 2] {
        let both = u32::from(x.cast_unsigned()) | u32::from(y.cast_unsigned()) << 16;
        self.dot_lanes(total, a, [pulp::cast(self.neon.vdupq_n_u32(both)); 2])
    }

    #[inline(always)]
    fn unsigned_pairs(self, x: [uint8x16_t; 2], [a, b]: [usize; 2]) -> [int16x8_t; 2] {
        x.map(|x| pulp::cast(self.neon.vqtbl1q_u8(x, pulp::cast(LOW_BYTES[a][b]))))
    }

    #[inline(always)]
    fn signed_pairs(self, x: [uint8x16_t; 2], [a, b]: [usize; 2]) -> [int16x8_t; 2] {
        x.map(|x| self.neon.vshrq_n_s16::<8>(pulp::cast(self.neon.vqtbl1q_u8(x, pulp::cast(HIGH_BYTES[a][b])))))
    }

    #[inline(always)]
    fn mul_pairs(self, x: [int16x8_t; 2], by: i16) -> [int16x8_t; 2] {
        x.map(|x| self.neon.vmulq_n_s16(x, by))
    }

    #[inline(always)]
    fn lane_bits(self, x: [uint8x16_t; 2], first: usize, set: u8) -> [uint8x16_t; 2] {
        let bits = if first.is_multiple_of(8) { 0x0804_0201 } else { 0x8040_2010 };
        let (bits, set): (uint8x16_t, _) = (pulp::cast(self.neon.vdupq_n_u32(bits)), self.neon.vdupq_n_u8(set));
        x.map(|x| {
            let byte = self.neon.vqtbl1q_u8(x, pulp::cast(BYTE_OF_LANE[first / 8]));
            self.neon.vandq_u8(self.neon.vtstq_u8(byte, bits), set)
        })
    }

    #[inline(always)]
    fn widen_halves(self, [a, b]: [uint8x16_t; 2]) -> [[float32x4_t; 2]; 2] {
        let (a, b): (uint16x8_t, uint16x8_t) = (pulp::cast(a), pulp::cast(b));
        [from_f16(self.neon.vuzp1q_u16(a, b)), from_f16(self.neon.vuzp2q_u16(a, b))]
    }

    #[inline(always)]
    fn settled(self, sum: [int16x8_t; 2]) -> [int16x8_t; 2] {
        pulp::cast(in_order(pulp::cast(sum)))
    }

    #[inline(always)]
    fn settled_i32(self, sum: [int32x4_t; 2]) -> [int32x4_t; 2] {
        in_order(sum)
    }

    #[inline(always)]
    fn settled_f32(self, x: [float32x4_t; 2]) -> [float32x4_t; 2] {
        pulp::cast(in_order(pulp::cast(x)))
    }

    #[inline(always)]
    fn join_pairs(self, a: [int16x8_t; 2], b: [int16x8_t; 2]) -> [int16x8_t; 2] {
        let first: uint16x8_t = pulp::cast(self.neon.vdupq_n_u32(0xffff));
        [self.neon.vbslq_s16(first, a[0], b[0]), self.neon.vbslq_s16(first, a[1], b[1])]
    }

    #[inline(always)]
    fn sums_of_pairs(self, a: [int16x8_t; 2], b: [int16x8_t; 2]) -> [int16x8_t; 2] {
        [self.neon.vpaddq_s16(a[0], a[1]), self.neon.vpaddq_s16(b[0], b[1])]
    }

    #[inline(always)]
    fn load_pairs(self, x: &[[i16; 2]; LANES]) -> [int16x8_t; 2] {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn store_pairs(self, x: [int16x8_t; 2], to: &mut [[i16; 2]; LANES]) {
        *to = pulp::cast(x);
    }

    #[inline(always)]
    fn words(self, [a, b, c, d, e, f, g, h]: [&[u8; 16]; LANES]) -> [[uint8x16_t; 2]; 4] {
        let first = self.columns([a, b, c, d].map(|row| pulp::cast(*row)));
        let last = self.columns([e, f, g, h].map(|row| pulp::cast(*row)));
        let column = |i: usize| [pulp::cast(first[i]), pulp::cast(last[i])];
        [column(0), column(1), column(2), column(3)]
    }

    #[inline(always)]
    fn widen_f16(self, x: [F16; LANES]) -> [float32x4_t; 2] {
        let mut bits = [0; LANES];
        for (bits, x) in bits.iter_mut().zip(x) {
            *bits = x.to_bits();
        }
        from_f16(pulp::cast(bits))
    }

    #[inline(always)]
    fn narrow_f16(self, x: [float32x4_t; 2]) -> [F16; LANES] {
        let bits: [u16; LANES] = pulp::cast(to_f16(x));
        let mut narrow = [F16::default(); LANES];
        for (narrow, bits) in narrow.iter_mut().zip(bits) {
            *narrow = F16::from_bits(bits);
        }
        narrow
    }

    #[inline(always)]
    fn to_bf16(self, x: [float32x4_t; 2]) -> [float32x4_t; 2] {
        x.map(|x| {
            let bits: uint32x4_t = pulp::cast(x);
            let odd = self.neon.vandq_u32(self.neon.vshrq_n_u32::<16>(bits), self.neon.vdupq_n_u32(1));
            let rounded = self.neon.vaddq_u32(self.neon.vaddq_u32(bits, self.neon.vdupq_n_u32(0x7fff)), odd);
            let upper = self.neon.vandq_u32(rounded, self.neon.vdupq_n_u32(0xffff_0000));
            // Adding would carry a NaN's bits into its sign.
            self.neon.vbslq_f32(self.neon.vceqq_f32(x, x), pulp::cast(upper), x)
        })
    }

    #[inline(always)]
    fn widen_bf16s(self, x: [int16x8_t; 2]) -> [[float32x4_t; 2]; 2] {
        let x: [uint32x4_t; 2] = pulp::cast(x);
        let second = |x| self.neon.vandq_u32(x, self.neon.vdupq_n_u32(0xffff_0000));
        [pulp::cast(x.map(|x| self.neon.vshlq_n_u32::<16>(x))), pulp::cast(x.map(second))]
    }

    #[inline(always)]
    fn unpair(self, [a, b]: [float32x4_t; 2], [c, d]: [float32x4_t; 2]) -> [[float32x4_t; 2]; 2] {
        [
            [self.neon.vuzp1q_f32(a, b), self.neon.vuzp1q_f32(c, d)],
            [self.neon.vuzp2q_f32(a, b), self.neon.vuzp2q_f32(c, d)],
        ]
    }

    #[inline(always)]
    fn widen_nibbles(self, [low, high]: [[u8; 8]; 2]) -> [[float32x4_t; 2]; 4] {
        let float = |x: uint16x8_t| {
            let low = self.neon.vmovl_u16(self.neon.vget_low_u16(x));
            [low, self.neon.vmovl_high_u16(x)].map(|x| self.neon.vcvtq_f32_u32(x))
        };
        let wide = |x: [u8; 8]| self.neon.vmovl_u8(pulp::cast(x));
        let low_nibbles = |x| float(self.neon.vandq_u16(x, self.neon.vdupq_n_u16(15)));
        let high_nibbles = |x| float(self.neon.vshrq_n_u16::<4>(x));
        let (low, high) = (wide(low), wide(high));
        [low_nibbles(low), low_nibbles(high), high_nibbles(low), high_nibbles(high)]
    }

    #[inline(always)]
    fn sub_bytes(self, x: [uint8x16_t; 2], by: u8) -> [uint8x16_t; 2] {
        x.map(|x| self.neon.vsubq_u8(x, self.neon.vdupq_n_u8(by)))
    }

    #[inline(always)]
    fn widen_pairs(self, x: [i8; 16]) -> [int16x8_t; 2] {
        let x: int8x16_t = pulp::cast(x);
        [self.neon.vmovl_s8(self.neon.vget_low_s8(x)), self.neon.vmovl_high_s8(x)]
    }

    #[inline(always)]
    fn spreads(self) {}

    #[inline(always)]
    fn spread(self, (): (), x: [int16x8_t; 2], lane: usize) -> [int16x8_t; 2] {
        let pairs: [[i16; 2]; HALF] = pulp::cast(x[lane / HALF]);
        pairs[lane % HALF].map(|number| self.neon.vdupq_n_s16(number))
    }

    #[inline(always)]
    fn dot_lanes(self, total: [int32x4_t; 2], a: [int16x8_t; 2], b: [int16x8_t; 2]) -> [int32x4_t; 2] {
        let one = |total, a, b| {
            let low = self.neon.vmull_s16(self.neon.vget_low_s16(a), self.neon.vget_low_s16(b));
            self.neon.vaddq_s32(total, self.neon.vpaddq_s32(low, self.neon.vmull_high_s16(a, b)))
        };
        [one(total[0], a[0], b[0]), one(total[1], a[1], b[1])]
    }

    #[inline(always)]
    fn sum_lanes(self, [a, b, c, d, e, f, g, h]: [[int32x4_t; 2]; LANES]) -> [int32x4_t; 2] {
        let halves = |[low, high]: [int32x4_t; 2]| self.neon.vaddq_s32(low, high);
        let twos = |x, y| self.neon.vpaddq_s32(halves(x), halves(y));
        let fours = |x, y| self.neon.vpaddq_s32(x, y);
        [fours(twos(a, b), twos(c, d)), fours(twos(e, f), twos(g, h))]
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d, e, f, g, h]: [[float32x4_t; 2]; LANES]) -> [[float32x4_t; 2]; LANES] {
        let block = |rows: [[float32x4_t; 2]; 4], half: usize| self.columns(rows.map(|row| pulp::cast(row[half])));
        let (first, last) = ([a, b, c, d], [e, f, g, h]);
        let blocks = [[block(first, 0), block(last, 0)], [block(first, 1), block(last, 1)]];
        let column = |i: usize| {
            let [first, last] = blocks[i / HALF];
            [pulp::cast(first[i % HALF]), pulp::cast(last[i % HALF])]
        };
        [column(0), column(1), column(2), column(3), column(4), column(5), column(6), column(7)]
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> [int32x4_t; 2] {
        [self.neon.vdupq_n_s32(x); 2]
    }

    #[inline(always)]
    fn splat(self, x: f32) -> [float32x4_t; 2] {
        [self.neon.vdupq_n_f32(x); 2]
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> [float32x4_t; 2] {
        pulp::cast(*x)
    }

    #[inline(always)]
    fn store(self, x: [float32x4_t; 2], to: &mut [f32; LANES]) {
        *to = pulp::cast(x);
    }

    #[inline(always)]
    fn add(self, a: [float32x4_t; 2], b: [float32x4_t; 2]) -> [float32x4_t; 2] {
        [self.neon.vaddq_f32(a[0], b[0]), self.neon.vaddq_f32(a[1], b[1])]
    }

    #[inline(always)]
    fn mul(self, a: [float32x4_t; 2], b: [float32x4_t; 2]) -> [float32x4_t; 2] {
        [self.neon.vmulq_f32(a[0], b[0]), self.neon.vmulq_f32(a[1], b[1])]
    }

    #[inline(always)]
    fn fma(self, a: [float32x4_t; 2], b: [float32x4_t; 2], c: [float32x4_t; 2]) -> [float32x4_t; 2] {
        [self.neon.vfmaq_f32(c[0], a[0], b[0]), self.neon.vfmaq_f32(c[1], a[1], b[1])]
    }

    #[inline(always)]
    fn to_f32(self, x: [int32x4_t; 2]) -> [float32x4_t; 2] {
        x.map(|x| self.neon.vcvtq_f32_s32(x))
    }

    // Both halves of a row, then of each row the first two and the last two, then what is left of all.
    #[inline(always)]
    fn sum_float_lanes(self, [a, b, c, d, e, f, g, h]: [[float32x4_t; 2]; LANES]) -> [float32x4_t; 2] {
        let halves = |[low, high]: [float32x4_t; 2]| -> uint64x2_t { pulp::cast(self.neon.vaddq_f32(low, high)) };
        let quarters = |x, y| {
            let (x, y) = (halves(x), halves(y));
            let low = pulp::cast(self.neon.vtrn1q_u64(x, y));
            self.neon.vaddq_f32(low, pulp::cast(self.neon.vtrn2q_u64(x, y)))
        };
        let four = |[a, b, c, d]: [[float32x4_t; 2]; 4]| self.neon.vpaddq_f32(quarters(a, b), quarters(c, d));
        [four([a, b, c, d]), four([e, f, g, h])]
    }

    #[expect(clippy::pointers_in_nomem_asm_block, reason = "the address is not read from")]
    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: a hint, which reads and writes nothing whatever the address.
        unsafe { asm!("prfm pldl2keep, [{0}]", in(reg) at, options(nomem, nostack, preserves_flags)) };
    }

    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}

impl Neon {
    /// `total + sum * scale` in each lane, whose scale is a pair of the same number.
    #[inline(always)]
    pub(crate) fn add_scaled(
        self,
        total: [int32x4_t; 2],
        sum: [int32x4_t; 2],
        scale: [int16x8_t; 2],
    ) -> [int32x4_t; 2] {
        let one = |total, sum, scale: int16x8_t| {
            self.neon.vmlaq_s32(total, sum, self.neon.vshrq_n_s32::<16>(pulp::cast(scale)))
        };
        [one(total[0], sum[0], scale[0]), one(total[1], sum[1], scale[1])]
    }

    /// Words of four rows as columns.
    #[inline(always)]
    fn columns(self, [a, b, c, d]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
        let even = |x, y| -> uint64x2_t { pulp::cast(self.neon.vtrn1q_u32(x, y)) };
        let odd = |x, y| -> uint64x2_t { pulp::cast(self.neon.vtrn2q_u32(x, y)) };
        let (ab0, ab1, cd0, cd1) = (even(a, b), odd(a, b), even(c, d), odd(c, d));
        [
            pulp::cast(self.neon.vtrn1q_u64(ab0, cd0)),
            pulp::cast(self.neon.vtrn1q_u64(ab1, cd1)),
            pulp::cast(self.neon.vtrn2q_u64(ab0, cd0)),
            pulp::cast(self.neon.vtrn2q_u64(ab1, cd1)),
        ]
    }
}

/// One of a lane's four bytes, four times.
const BYTE_OF_LANE: [[u8; 16]; 4] = {
    let mut all = [[0; 16]; 4];
    let mut i = 0;
    while i < 4 * 16 {
        all[i / 16][i % 16] = (i % 16 / 4 * 4 + i / 16) as u8;
        i += 1;
    }
    all
};

/// For two of a lane's four bytes, where each byte of a shuffled lane comes from; 255 makes a zero.
const LOW_BYTES: [[[u8; 16]; 4]; 4] = shuffles(0);

/// The same, the bytes in the upper halves of their i16.
const HIGH_BYTES: [[[u8; 16]; 4]; 4] = shuffles(1);

const fn shuffles(half: usize) -> [[[u8; 16]; 4]; 4] {
    let mut all = [[[u8::MAX; 16]; 4]; 4];
    let mut i = 0;
    while i < 4 * 4 * HALF {
        let (a, b, lane) = (i / (4 * HALF), i / HALF % 4, i % HALF);
        all[a][b][4 * lane + half] = (4 * lane + a) as u8;
        all[a][b][4 * lane + 2 + half] = (4 * lane + b) as u8;
        i += 1;
    }
    all
}

/// Eight binary16 numbers as floats.
#[inline(always)]
fn from_f16(x: uint16x8_t) -> [float32x4_t; 2] {
    let (low, high);
    // SAFETY: every AArch64 for which this is compiled has the instructions; Rust's functions for them are not stable.
    unsafe {
        asm!(
            "fcvtl {low:v}.4s, {x:v}.4h",
            "fcvtl2 {high:v}.4s, {x:v}.8h",
            x = in(vreg) x,
            low = out(vreg) low,
            high = lateout(vreg) high,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    [low, high]
}

/// The nearest binary16 numbers, ties to even.
#[inline(always)]
fn to_f16([low, high]: [float32x4_t; 2]) -> uint16x8_t {
    let narrow;
    // SAFETY: as in `from_f16`.
    unsafe {
        asm!(
            "fcvtn {narrow:v}.4h, {low:v}.4s",
            "fcvtn2 {narrow:v}.8h, {high:v}.4s",
            low = in(vreg) low,
            high = in(vreg) high,
            narrow = out(vreg) narrow,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    narrow
}

/// The sums of neighbours, those of `low` first. Of Rust's own function the compiler makes two shuffles and an addition where another addition follows.
#[inline(always)]
fn pair_sums(low: int16x8_t, high: int16x8_t) -> int16x8_t {
    let sums;
    // SAFETY: every AArch64 for which this is compiled has the instruction; nothing but registers is read or written.
    unsafe {
        asm!(
            "addp {sums:v}.8h, {low:v}.8h, {high:v}.8h",
            sums = lateout(vreg) sums,
            low = in(vreg) low,
            high = in(vreg) high,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

/// The sums as they are. The compiler takes them for the results of instructions that it neither looks into nor moves across each other.
#[inline(always)]
fn in_order([mut low, mut high]: [int32x4_t; 2]) -> [int32x4_t; 2] {
    // SAFETY: there is no instruction in it, only a comment: nothing is read or written.
    unsafe {
        asm!("/* {0:v} {1:v} */", inout(vreg) low, inout(vreg) high, options(nomem, nostack, preserves_flags));
    }
    [low, high]
}
