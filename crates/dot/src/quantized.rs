//! Quantized weights by int8 activations: what a kernel needs to know of a block, and the definition of a dot.

use keepq_act::Q8Rows;
use keepq_blocks::Block;

/// A block as kernels see it: codes in groups of 32 with integer scales, one float scale, perhaps minima.
///
/// ```text
/// w[j] = scale * (sub_scales[j / 16] * codes[j]) + min * sub_mins[j / 16]
/// ```
pub trait Quantized: Block {
    /// Groups of 32 elements in a block: 1, or 8 in a super-block.
    const GROUPS: usize = Self::LEN / 32;

    /// Elements that share an integer scale: 16 or 32; all of them where a block has none, and it counts as 1.
    const SUB_BLOCK: usize = Self::LEN;

    /// Whether [`sub_scales`](Self::sub_scales) and [`sub_mins`](Self::sub_mins) count.
    const SUB_BLOCKS: bool = Self::SUB_BLOCK < Self::LEN;

    /// Whether [`min`](Self::min) counts.
    const HAS_MIN: bool = false;

    /// Groups whose products, `|sub_scale * code| * 127 * 32` each at most, add up to less than 2^24.
    const EXACT_GROUPS: usize = 1;

    /// `[i8; Self::LEN]`.
    type Codes: AsRef<[i8]>;

    /// The codes in the order of k, with their bias removed.
    fn codes(&self) -> Self::Codes;

    /// The float scale: `d`.
    fn scale(&self) -> f32;

    /// The float minimum: `m`, or `-dmin`.
    #[inline(always)]
    fn min(&self) -> f32 {
        0.0
    }

    /// The integer scales of 16 elements each, equal within a [`SUB_BLOCK`](Self::SUB_BLOCK); only those of the block's
    /// groups count.
    #[inline(always)]
    fn sub_scales(&self) -> [[i8; 2]; 8] {
        [[1; 2]; 8]
    }

    /// The integer minima of 16 elements each; only those of the block's groups count.
    #[inline(always)]
    fn sub_mins(&self) -> [[u8; 2]; 8] {
        [[0; 2]; 8]
    }
}

/// The dot of one weight row and one token, in place: the definition (docs/NUMERICS.md).
///
/// `x` is a row of as many blocks as `row` (the fewer count).
#[inline(always)]
#[must_use]
pub fn dot_quantized<B: Quantized>(row: &[B], x: Q8Rows<'_>) -> f32 {
    dot(row, x.codes, x)
}

/// `y[t * n + r]`: the dots of all rows and tokens, the weights where they lie.
///
/// `wide` has room for a token's codes as i16, which all rows share: products of i16 are what instruction sets add up in
/// pairs, and widening takes as long as multiplying.
#[inline(always)]
pub(crate) fn in_place<B: Quantized>(
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    wide: &mut [[i16; 32]],
    y: &mut [f32],
) {
    let n = blocks.len() / row_blocks;
    for (t, y) in y.chunks_exact_mut(n).enumerate() {
        let x = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
        for (wide, code) in wide.as_flattened_mut().iter_mut().zip(x.codes.as_flattened()) {
            *wide = i16::from(*code);
        }
        for (row, y) in blocks.chunks_exact(row_blocks).zip(y) {
            *y = dot(row, wide, x);
        }
    }
}

/// The dot of a row and a token whose codes are `x_codes`, in one width or another.
#[inline(always)]
fn dot<B: Quantized, C: Copy + Into<i16>>(row: &[B], x_codes: &[[C; 32]], x: Q8Rows<'_>) -> f32 {
    let mut acc = 0.0;
    let groups = x_codes.chunks_exact(B::GROUPS).zip(x.sums.chunks_exact(B::GROUPS));
    for ((block, (x_codes, x_sums)), &x_scale) in row.iter().zip(groups).zip(x.scales) {
        acc += (block.scale() * x_scale) * products(block, x_codes.as_flattened()) as f32;
        if B::HAS_MIN {
            acc += (block.min() * x_scale) * minima(block, x_sums) as f32;
        }
    }
    acc
}

/// `Σ sub_scale * code * x`, exact: at most 256 * 4096 * 127 in magnitude.
#[inline(always)]
fn products<B: Quantized, C: Copy + Into<i16>>(block: &B, x: &[C]) -> i32 {
    let codes = block.codes();
    let codes = codes.as_ref();
    match B::SUB_BLOCK {
        16 if B::SUB_BLOCKS => scaled::<16, C>(codes, x, block.sub_scales().as_flattened().iter()),
        32 if B::SUB_BLOCKS => scaled::<32, C>(codes, x, block.sub_scales().iter().map(|[scale, _]| scale)),
        _ => sum_of_products(codes, x),
    }
}

/// The sums of `LEN` products each, times their scales.
#[inline(always)]
fn scaled<'s, const LEN: usize, C: Copy + Into<i16>>(
    codes: &[i8],
    x: &[C],
    scales: impl Iterator<Item = &'s i8>,
) -> i32 {
    let mut total = 0;
    for ((codes, x), &scale) in codes.as_chunks::<LEN>().0.iter().zip(x.as_chunks::<LEN>().0).zip(scales) {
        total += i32::from(scale) * sum_of_products(codes, x);
    }
    total
}

#[inline(always)]
fn sum_of_products<C: Copy + Into<i16>>(codes: &[i8], x: &[C]) -> i32 {
    codes.iter().zip(x).map(|(&q, &x)| i32::from(i16::from(q)) * i32::from(x.into())).sum()
}

/// `Σ sub_min * (sum of 16 codes of x)`, exact: at most 16 * 255 * 16 * 127.
#[inline(always)]
fn minima<B: Quantized>(block: &B, sums: &[[i16; 2]]) -> i32 {
    let sums = sums.as_flattened().iter().map(|&sum| i32::from(sum));
    if !B::SUB_BLOCKS {
        return sums.sum();
    }
    sums.zip(block.sub_mins().as_flattened()).map(|(sum, &min)| sum * i32::from(min)).sum()
}
