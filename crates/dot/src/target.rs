//! [`Target`]: an instruction set as kernels see it.

use keepq_blocks::F16;

use crate::Way;

/// Lanes of [`Target::F32s`].
pub const LANES: usize = 8;

/// Eight floats side by side, what an instruction set does with them, and how bodies are compiled for it.
///
/// Kernels are written once over this trait. All targets give the same bits: each lane is IEEE 754.
pub trait Target: Copy {
    /// Eight floats in registers.
    type F32s: Copy;

    /// Eight 32-bit integers in registers.
    type I32s: Copy;

    /// `x` in all lanes.
    fn splat(self, x: f32) -> Self::F32s;

    /// Eight floats from memory.
    fn load(self, x: &[f32; LANES]) -> Self::F32s;

    /// Eight floats to memory.
    fn store(self, x: Self::F32s, to: &mut [f32; LANES]);

    /// `a + b`, rounded.
    fn add(self, a: Self::F32s, b: Self::F32s) -> Self::F32s;

    /// `a * b`, rounded.
    fn mul(self, a: Self::F32s, b: Self::F32s) -> Self::F32s;

    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::F32s, b: Self::F32s, c: Self::F32s) -> Self::F32s;

    /// Integers rounded to the nearest float, half to even.
    fn to_f32(self, x: Self::I32s) -> Self::F32s;

    /// 32 bytes in registers.
    type Bytes: Copy;

    /// Two i16 of each of eight lanes in registers.
    type Pairs: Copy;

    /// For each of eight lanes, sums of products of bytes that are not widened yet.
    type Partial: Copy;

    /// 32 bytes from memory.
    fn load_bytes(self, x: &[u8; 32]) -> Self::Bytes;

    /// 32 signed bytes from memory.
    fn load_codes(self, x: &[i8; 32]) -> Self::Bytes;

    /// Of eight rows of sixteen bytes the columns of four bytes.
    fn words(self, rows: [&[u8; 16]; LANES]) -> [Self::Bytes; 4];

    /// Eight binary16 numbers, exactly; any NaN becomes some NaN.
    fn widen_f16(self, x: [F16; LANES]) -> Self::F32s;

    /// The nearest binary16 numbers, ties to even; any NaN becomes some NaN.
    fn narrow_f16(self, x: Self::F32s) -> [F16; LANES];

    /// The nearest bf16 numbers, ties to even, as floats; any NaN becomes some NaN.
    fn to_bf16(self, x: Self::F32s) -> Self::F32s;

    /// The two bf16 numbers of each lane: the first ones, then the second ones.
    fn widen_bf16s(self, x: Self::Pairs) -> [Self::F32s; 2];

    /// Of sixteen numbers those at even places, then those at odd ones.
    fn unpair(self, low: Self::F32s, high: Self::F32s) -> [Self::F32s; 2];

    /// Low nibbles of two times eight bytes, then high nibbles, as floats.
    fn widen_nibbles(self, x: [[u8; 8]; 2]) -> [Self::F32s; 4];

    /// `x - by` in each byte, wrapping.
    fn sub_bytes(self, x: Self::Bytes, by: u8) -> Self::Bytes;

    /// 32 bytes to memory.
    fn store_bytes(self, x: Self::Bytes, to: &mut [u8; 32]);

    /// Four bytes, eight times.
    fn splat_bytes(self, x: [i8; 4]) -> Self::Bytes;

    /// `x >> shift & mask` in each byte.
    fn field(self, x: Self::Bytes, shift: u32, mask: u8) -> Self::Bytes;

    /// `low | high << shift` in each byte, which nothing is shifted out of.
    fn join(self, low: Self::Bytes, high: Self::Bytes, shift: u32) -> Self::Bytes;

    /// A sum of nothing.
    fn nothing(self) -> Self::Partial;

    /// In each lane, `sum` and the four products of its unsigned by its signed bytes.
    ///
    /// Two lanes of 16 bits may hold the sum: those of the first and of the last two products stay within 2^15 - 1. With
    /// [`SIGNED_PRODUCTS`](Self::SIGNED_PRODUCTS) the unsigned bytes are at most 127.
    fn add_products(self, sum: Self::Partial, unsigned: Self::Bytes, signed: Self::Bytes) -> Self::Partial;

    /// Whether [`add_quad`](Self::add_quad) takes a token's codes as they lie, where other targets have [`splat_bytes`](Self::splat_bytes) put a quad
    /// of them into all lanes.
    const BY_QUAD: bool = false;

    /// [`add_products`](Self::add_products) by quad `q` of a token's codes.
    #[inline(always)]
    fn add_quad(self, sum: Self::Partial, unsigned: Self::Bytes, x: &[i8; 32], q: usize) -> Self::Partial {
        self.add_products(sum, unsigned, self.splat_bytes(x.as_chunks().0[q]))
    }

    /// In each lane, the sum of the four products of its signed bytes; those of `b` are above -128.
    fn signed_products(self, a: Self::Bytes, b: Self::Bytes) -> Self::Partial;

    /// Whether [`Partial`](Self::Partial) is as wide as [`I32s`](Self::I32s): then any number of products may be added up, and signed
    /// codes are made unsigned by adding 128, which sums of activations take away again.
    const WIDE_PARTIAL: bool = false;

    /// Whether [`add_products`](Self::add_products) takes all bytes as signed: then signed codes are multiplied as they are.
    const SIGNED_PRODUCTS: bool = false;

    /// Whether many tokens are multiplied two at a time, by [`add_products_of_two`](Self::add_products_of_two), which goes with wide sums.
    const TWO_TOKENS: bool = false;

    /// Two neighbouring quads of eight rows, in the order in which products of two tokens take them.
    #[inline(always)]
    fn join_quads(self, quads: [Self::Bytes; 2]) -> [Self::Bytes; 2] {
        quads
    }

    /// `sums` and the products of two quads, which are in the order of [`join_quads`](Self::join_quads), by two tokens: in an order of lanes that
    /// [`part_tokens`](Self::part_tokens) knows, but for sums of nothing.
    #[inline(always)]
    fn add_products_of_two(
        self,
        sums: [Self::Partial; 2],
        quads: [Self::Bytes; 2],
        x: [[i8; 8]; 2],
    ) -> [Self::Partial; 2] {
        let mut sums = sums;
        for t in 0..2 {
            for (quad, x) in quads.into_iter().zip(x[t].as_chunks().0) {
                sums[t] = self.add_products(sums[t], quad, self.splat_bytes(*x));
            }
        }
        sums
    }

    /// Of sums of two tokens those of the first, and those of the second.
    #[inline(always)]
    fn part_tokens(self, sums: [Self::Partial; 2]) -> [Self::Partial; 2] {
        sums
    }

    /// `total + sum` in each lane.
    fn widen(self, total: Self::I32s, sum: Self::Partial) -> Self::I32s;

    /// `total + sum * scale` in each lane, whose scale is a pair of the same number.
    fn widen_scaled(self, total: Self::I32s, sum: Self::Partial, scale: Self::Pairs) -> Self::I32s;

    /// `total + a[0] * b[0] + a[1] * b[1]` in each lane.
    fn dot_pairs(self, total: Self::I32s, a: Self::Pairs, b: [i16; 2]) -> Self::I32s;

    /// Two bytes of the four of each lane, without sign.
    fn unsigned_pairs(self, x: Self::Bytes, which: [usize; 2]) -> Self::Pairs;

    /// Two bytes of the four of each lane, with their sign.
    fn signed_pairs(self, x: Self::Bytes, which: [usize; 2]) -> Self::Pairs;

    /// `x * by`, which does not overflow.
    fn mul_pairs(self, x: Self::Pairs, by: i16) -> Self::Pairs;

    /// Byte `j` of each lane is `set` where bit `first + j` of the lane's 32 bits is, else 0. `first` is a multiple of four.
    fn lane_bits(self, x: Self::Bytes, first: usize, set: u8) -> Self::Bytes;

    /// The two binary16 numbers of each lane: the first ones, then the second ones.
    fn widen_halves(self, x: Self::Bytes) -> [Self::F32s; 2];

    /// `sum`, which is computed here and no later, after all that was settled before it.
    ///
    /// Integer sums can be made in any order, so that compilers balance and delay them: what they are made of then waits in
    /// registers, of which there are too few.
    #[inline(always)]
    fn settled(self, sum: Self::Partial) -> Self::Partial {
        sum
    }

    /// [`settled`](Self::settled) for wide sums.
    #[inline(always)]
    fn settled_i32(self, sum: Self::I32s) -> Self::I32s {
        sum
    }

    /// [`settled`](Self::settled) for floats: compilers reorder what they are computed from, though not the sums.
    #[inline(always)]
    fn settled_f32(self, x: Self::F32s) -> Self::F32s {
        x
    }

    /// The first of each of `a`'s pairs, and the second of each of `b`'s.
    fn join_pairs(self, a: Self::Pairs, b: Self::Pairs) -> Self::Pairs;

    /// The sums of the pairs of `a`, then those of `b`, none of which overflows.
    fn sums_of_pairs(self, a: Self::Pairs, b: Self::Pairs) -> Self::Pairs;

    /// Pairs from memory.
    fn load_pairs(self, x: &[[i16; 2]; LANES]) -> Self::Pairs;

    /// Pairs to memory.
    fn store_pairs(self, x: Self::Pairs, to: &mut [[i16; 2]; LANES]);

    /// `x` in all lanes.
    fn splat_i32(self, x: i32) -> Self::I32s;

    /// Sixteen numbers as pairs.
    fn widen_pairs(self, x: [i8; 16]) -> Self::Pairs;

    /// What [`spread`](Self::spread) works by, to be made outside of loops.
    type Spreads: Copy;

    /// See [`Spreads`](Self::Spreads).
    fn spreads(self) -> Self::Spreads;

    /// The first number of pair `lane` in the first four lanes, its second number in the others.
    fn spread(self, by: Self::Spreads, x: Self::Pairs, lane: usize) -> Self::Pairs;

    /// `total + a[0] * b[0] + a[1] * b[1]` in each lane.
    fn dot_lanes(self, total: Self::I32s, a: Self::Pairs, b: Self::Pairs) -> Self::I32s;

    /// Lane `r` is the sum over the lanes of `rows[r]`.
    fn sum_lanes(self, rows: [Self::I32s; LANES]) -> Self::I32s;

    /// Lane `r` of `columns[c]` is lane `c` of `rows[r]`.
    fn transpose(self, rows: [Self::F32s; LANES]) -> [Self::F32s; LANES];

    /// In lane `i` the sum of the lanes of `x[i]`, in the order that `docs/NUMERICS.md` fixes for partial sums.
    fn sum_float_lanes(self, x: [Self::F32s; LANES]) -> Self::F32s;

    /// A hint that the cache line at this address, which need not be one of memory, will be read soon: to a cache that is
    /// not the smallest.
    fn prefetch(self, at: *const u8);

    /// How quantized weights are multiplied fastest.
    const WAY: Way;

    /// Calls `body` once, compiled for this instruction set.
    ///
    /// One body is one function for the compiler: several large ones in one `run` are optimized worse.
    fn run(self, body: impl FnMut());
}
