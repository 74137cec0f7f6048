//! Quantized weights by int8 activations: what a kernel needs to know of a block, and the definition of a dot.

use keepq_act::Q8Rows;
use keepq_blocks::{Block, F16};

use crate::Target;
use crate::octets::Octet;

/// A block as kernels see it: codes in groups of 32 with integer scales, one float scale, perhaps minima.
///
/// ```text
/// w[j] = d * (sub_scales[j / SUB_BLOCK] * codes[j]) + m * sub_mins[j / SUB_BLOCK]
/// ```
pub trait Quantized: Block {
    /// Groups of 32 elements in a block: 1, or 8 in a super-block.
    const GROUPS: usize = Self::LEN / 32;

    /// Elements that share an integer scale: 16 or 32; all of them where a block has none, and it counts as 1.
    const SUB_BLOCK: usize = Self::LEN;

    /// Whether [`sub_scales`](Self::sub_scales) and [`sub_mins`](Self::sub_mins) count.
    const SUB_BLOCKS: bool = Self::SUB_BLOCK < Self::LEN;

    /// Whether [`m`](Self::m) counts.
    const HAS_MIN: bool = false;

    /// What is added to codes to make them unsigned.
    const BIAS: u8 = 0;

    /// The largest code with its bias; of [`SIGNED`](Self::SIGNED) types the largest magnitude.
    const MAX_CODE: u8;

    /// The byte of a block at which [`d`](Self::d) stands; a minimum follows.
    const FLOATS_AT: usize;

    /// Whether codes are any i8, and have no bias.
    const SIGNED: bool = false;

    /// Quads of products that are added up in 16 bits, two and two: `MAX_CODE * 127 * 2` each at most, and all of one
    /// sub-block.
    const QUADS: usize = quads(Self::MAX_CODE, Self::SIGNED, Self::SUB_BLOCK);

    /// `[i8; Self::LEN]`.
    type Codes: AsRef<[i8]>;

    /// The codes in the order of k, with their bias removed.
    fn codes(&self) -> Self::Codes;

    /// The codes of eight rows with their bias: calls `put(group, q, codes)` with those of elements `4 q` to `4 q + 3` of each
    /// row in turn, for each group and each of its eight quads.
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, put: impl FnMut(usize, usize, T::Bytes));

    /// The float scale: `d`.
    fn d(&self) -> F16;

    /// The float minimum: `m`, or `-dmin`.
    #[inline(always)]
    fn m(&self) -> F16 {
        F16::from_bits(0)
    }

    /// The integer scales of the sub-blocks; only as many as the block has count.
    #[inline(always)]
    fn sub_scales(&self) -> [i8; 16] {
        [1; 16]
    }

    /// The integer minima of the sub-blocks; only as many as the block has count.
    #[inline(always)]
    fn sub_mins(&self) -> [u8; 16] {
        [0; 16]
    }

    /// [`sub_scales`](Self::sub_scales) and [`sub_mins`](Self::sub_mins) of eight rows in registers: four sub-blocks of each
    /// row in turn, then the next four.
    #[inline(always)]
    fn octet_scales<T: Target>(target: T, _octet: impl Octet<Self>) -> [[T::Bytes; 4]; 2] {
        [[target.splat_bytes([1; 4]); 4]; 2]
    }
}

/// The dot of one weight row and one token, in place: the definition (docs/NUMERICS.md).
///
/// `x` is a row of as many blocks as `row` (the fewer count).
#[inline(always)]
#[must_use]
pub fn dot_quantized<B: Quantized>(row: &[B], x: Q8Rows<'_>) -> f32 {
    let mut acc = 0.0;
    let groups = x.codes.chunks_exact(B::GROUPS).zip(x.sums.chunks_exact(B::GROUPS));
    for ((block, (x_codes, x_sums)), &x_scale) in row.iter().zip(groups).zip(x.scales) {
        let isum = products::<B, _, _>(block.codes().as_ref(), block.sub_scales(), x_codes.as_flattened());
        acc += (block.d().to_f32() * x_scale) * isum as f32;
        if B::HAS_MIN {
            acc += (block.m().to_f32() * x_scale) * minima::<B>(block.sub_mins(), x_sums) as f32;
        }
    }
    acc
}

/// Tokens that share what is decoded of a super-block.
pub(crate) const TOKENS: usize = 4;

/// `y[t * n + r]`: the dots of all rows and tokens, the weights where they lie.
///
/// `wide` has room for the codes of [`TOKENS`] tokens as i16, which all rows share: products of i16 are what instruction
/// sets add up in pairs, and widening takes as long as multiplying.
#[inline(always)]
pub(crate) fn in_place<B: Quantized>(
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    wide: &mut [[i16; 32]],
    y: &mut [f32],
) {
    let n = blocks.len() / row_blocks;
    for (i, y) in y.chunks_mut(TOKENS * n).enumerate() {
        let m = y.len() / n;
        let x = x.blocks(i * TOKENS * row_blocks..(i * TOKENS + m) * row_blocks, B::GROUPS);
        for (wide, code) in wide.as_flattened_mut().iter_mut().zip(x.codes.as_flattened()) {
            *wide = i16::from(*code);
        }
        // Measured: what is decoded of 32 elements costs less than sharing it.
        if m == TOKENS && B::LEN == 256 {
            tile::<B, TOKENS, 256>(blocks, row_blocks, x, wide, y);
        } else {
            for (t, y) in y.chunks_exact_mut(n).enumerate() {
                let x = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
                let wide = &wide[t * row_blocks * B::GROUPS..];
                if B::LEN == 32 {
                    tile::<B, 1, 32>(blocks, row_blocks, x, wide, y);
                } else {
                    tile::<B, 1, 256>(blocks, row_blocks, x, wide, y);
                }
            }
        }
    }
}

/// The dots of all rows and `M` tokens, whose codes are `wide`. `LEN` is the block's.
#[inline(always)]
fn tile<B: Quantized, const M: usize, const LEN: usize>(
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    wide: &[[i16; 32]],
    y: &mut [f32],
) {
    let n = blocks.len() / row_blocks;
    for (r, row) in blocks.chunks_exact(row_blocks).enumerate() {
        let mut acc = [0.0; M];
        for (b, block) in row.iter().enumerate() {
            let codes = block.codes();
            let mut w = [0_i16; LEN];
            for (wide, code) in w.iter_mut().zip(codes.as_ref()) {
                *wide = i16::from(*code);
            }
            let (scales, mins) = (block.sub_scales(), block.sub_mins());
            let (d, m) = (block.d().to_f32(), block.m().to_f32());
            for t in 0..M {
                let at = t * row_blocks + b;
                let groups = at * B::GROUPS..(at + 1) * B::GROUPS;
                let x_codes = wide[groups.clone()].as_flattened();
                let isum = products::<B, _, _>(&w, scales, x_codes);
                acc[t] += (d * x.scales[at]) * isum as f32;
                if B::HAS_MIN {
                    acc[t] += (m * x.scales[at]) * minima::<B>(mins, &x.sums[groups]) as f32;
                }
            }
        }
        for t in 0..M {
            y[t * n + r] = acc[t];
        }
    }
}

/// `Σ sub_scale * code * x`, exact: at most 256 * 4096 * 127 in magnitude.
#[inline(always)]
fn products<B: Quantized, Q: Copy + Into<i16>, X: Copy + Into<i16>>(codes: &[Q], scales: [i8; 16], x: &[X]) -> i32 {
    match B::SUB_BLOCK {
        16 if B::SUB_BLOCKS => scaled(codes.as_chunks::<16>().0, scales, x.as_chunks::<16>().0),
        32 if B::SUB_BLOCKS => scaled(codes.as_chunks::<32>().0, scales, x.as_chunks::<32>().0),
        _ => sum_of_products(codes, x),
    }
}

/// The sums of the products of each sub-block, times its scale.
#[inline(always)]
fn scaled<Q: Copy + Into<i16>, X: Copy + Into<i16>, const LEN: usize>(
    codes: &[[Q; LEN]],
    scales: [i8; 16],
    x: &[[X; LEN]],
) -> i32 {
    let mut total = 0;
    for ((codes, x), scale) in codes.iter().zip(x).zip(scales) {
        total += i32::from(scale) * sum_of_products(codes, x);
    }
    total
}

#[inline(always)]
fn sum_of_products<Q: Copy + Into<i16>, X: Copy + Into<i16>>(codes: &[Q], x: &[X]) -> i32 {
    codes.iter().zip(x).map(|(&q, &x)| i32::from(q.into()) * i32::from(x.into())).sum()
}

/// `Σ sub_min * (sum of the sub-block's codes of x)`, exact: at most 16 * 255 * 16 * 127.
#[inline(always)]
fn minima<B: Quantized>(mins: [u8; 16], sums: &[[i16; 2]]) -> i32 {
    let sixteens = sums.as_flattened().iter().map(|&sum| i32::from(sum));
    match B::SUB_BLOCK {
        16 if B::SUB_BLOCKS => sixteens.zip(mins).map(|(sum, min)| sum * i32::from(min)).sum(),
        32 if B::SUB_BLOCKS => {
            sums.iter().zip(mins).map(|(sum, min)| i32::from(sum[0] + sum[1]) * i32::from(min)).sum()
        }
        _ => sixteens.sum(),
    }
}

const fn quads(max_code: u8, signed: bool, sub_block: usize) -> usize {
    let mut quads = if sub_block == 16 { 4 } else { 8 };
    while signed && quads > 1 || quads * max_code as usize * 127 * 2 > i16::MAX as usize {
        quads /= 2;
    }
    quads
}

/// Eight values, and eight that do not count.
#[inline(always)]
pub(crate) fn sixteen(eight: [u8; 8]) -> [u8; 16] {
    (u128::from(u64::from_le_bytes(eight))).to_le_bytes()
}

/// Scales and minima of [`octet_scales`](Quantized::octet_scales) of blocks of Q4_K or Q5_K, which follow two floats: six
/// bits each as [`BlockQ4_K`](keepq_blocks::BlockQ4_K) has them.
#[inline(always)]
pub(crate) fn six_bits<T: Target, B: Quantized>(target: T, octet: impl Octet<B>) -> [[T::Bytes; 4]; 2] {
    let [_, scales, mins, nibbles] = octet.words(target, 0);
    let sub_blocks = |sixes, shift| {
        let last = target.join(target.field(nibbles, shift, 15), target.field(sixes, 6, 3), 4);
        let first = target.field(sixes, 0, 63);
        [first, last, last, last]
    };
    [sub_blocks(scales, 0), sub_blocks(mins, 4)]
}

/// A number with the other sign.
#[inline(always)]
pub(crate) fn negated(x: F16) -> F16 {
    F16::from_bits(x.to_bits() ^ 0x8000)
}
