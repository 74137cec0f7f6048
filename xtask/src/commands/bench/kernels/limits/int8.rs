//! How many products of bytes a second AVX2 makes, in the three ways that kernels use.
//!
//! The compiler must find nothing to simplify: chains are of instructions that it does not look into, operands come from memory that
//! it has to take for changed each round.

use super::Int8;

/// Measures with so many threads; none where the machine has no such instructions.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn measure(_: usize) -> Option<Int8> {
    None
}

/// Measures with so many threads; none where the machine has no such instructions.
#[cfg(target_arch = "x86_64")]
pub(super) fn measure(threads: usize) -> Option<Int8> {
    x86::measure(threads)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::hint::black_box;

    use pulp::x86::V3;
    use pulp::{NullaryFnOnce, i8x32, i16x16, i32x8};

    use super::super::super::super::limits::{SHORT_PROBES, best};
    use super::Int8;

    /// Products of an instruction.
    const PRODUCTS: usize = 32;

    pub(super) fn measure(threads: usize) -> Option<Int8> {
        let simd = V3::try_new()?;
        let rate = |instructions: usize, work: &(dyn Fn() + Sync)| {
            let elapsed = best(SHORT_PROBES, threads, |_, _| work());
            (2 * PRODUCTS * instructions * threads) as f64 / elapsed.as_secs_f64() / 1e9
        };
        let words = std::array::from_fn(|i| (i as i32).wrapping_mul(0x0103_0507) & 0x0f0f_0f0f);
        Some(Int8 {
            maddubs: rate(CHAIN_ROUNDS * CHAINS, &|| {
                black_box(simd.vectorize(Alone(simd)));
            }),
            eight_maddubs: rate(ROUNDS * WORDS, &|| {
                black_box(simd.vectorize(Eight(simd, &words)));
            }),
            sign: rate(ROUNDS * WORDS * VECTORS, &|| {
                black_box(simd.vectorize(Sign(simd, &words)));
            }),
        })
    }

    /// Independent chains: two units with four cycles a step are busy with eight.
    const CHAINS: usize = 12;

    /// Rounds of the chains: one or two milliseconds.
    const CHAIN_ROUNDS: usize = 1 << 20;

    /// Words of four activations: 4 KiB, which stay in L1.
    const WORDS: usize = 1024;

    /// Rounds over them: about a millisecond.
    const ROUNDS: usize = 1 << 12;

    /// Vectors of signed weights that meet each word.
    const VECTORS: usize = 2;

    /// `maddubs` alone: each step takes the result of the last as its unsigned operand.
    struct Alone(V3);

    impl NullaryFnOnce for Alone {
        type Output = i16x16;

        #[inline(always)]
        fn call(self) -> i16x16 {
            let simd = self.0;
            let by = black_box(simd.splat_i8x32(1));
            let mut chains = [black_box(simd.splat_i16x16(3)); CHAINS];
            for _ in 0..CHAIN_ROUNDS {
                for chain in &mut chains {
                    *chain = simd.multiply_saturating_add_adjacent_i8x32(pulp::cast(*chain), by);
                }
            }
            chains.into_iter().fold(chains[0], |sum, chain| simd.wrapping_add_i16x16(sum, chain))
        }
    }

    /// Eight `maddubs` added up in 16 bits, then one `madd`.
    struct Eight<'a>(V3, &'a [i32; WORDS]);

    impl NullaryFnOnce for Eight<'_> {
        type Output = i32x8;

        #[inline(always)]
        fn call(self) -> i32x8 {
            let simd = self.0;
            let weights = black_box(simd.splat_i8x32(1));
            let scale = black_box(simd.splat_i16x16(1));
            let mut total = simd.splat_i32x8(0);
            for _ in 0..ROUNDS {
                for words in black_box(self.1).as_chunks::<8>().0 {
                    let mut sum = simd.splat_i16x16(0);
                    for word in words {
                        let x: i8x32 = pulp::cast(simd.splat_i32x8(*word));
                        let products = simd.multiply_saturating_add_adjacent_i8x32(weights, x);
                        sum = simd.wrapping_add_i16x16(sum, products);
                    }
                    total = simd.wrapping_add_i32x8(total, simd.multiply_wrapping_add_adjacent_i16x16(sum, scale));
                }
            }
            total
        }
    }

    /// `sign`, `maddubs`, `madd`, add.
    struct Sign<'a>(V3, &'a [i32; WORDS]);

    impl NullaryFnOnce for Sign<'_> {
        type Output = i32x8;

        #[inline(always)]
        fn call(self) -> i32x8 {
            let simd = self.0;
            // Signed weights, and how large they are without the sign.
            let weights = black_box([simd.splat_i8x32(-1), simd.splat_i8x32(-2)]);
            let sizes = black_box([simd.splat_i8x32(1), simd.splat_i8x32(2)]);
            let ones = black_box(simd.splat_i16x16(1));
            let mut totals = [[simd.splat_i32x8(0); VECTORS]; 4];
            for _ in 0..ROUNDS {
                for words in black_box(self.1).as_chunks::<4>().0 {
                    for (word, totals) in words.iter().zip(&mut totals) {
                        let x: i8x32 = pulp::cast(simd.splat_i32x8(*word));
                        for ((total, w), size) in totals.iter_mut().zip(weights).zip(sizes) {
                            let signed = simd.apply_sign_i8x32(x, w);
                            let pairs = simd.multiply_saturating_add_adjacent_i8x32(size, signed);
                            let wide = simd.multiply_wrapping_add_adjacent_i16x16(pairs, ones);
                            *total = simd.wrapping_add_i32x8(*total, wide);
                        }
                    }
                }
            }
            totals.into_iter().flatten().fold(simd.splat_i32x8(0), |sum, total| simd.wrapping_add_i32x8(sum, total))
        }
    }
}
