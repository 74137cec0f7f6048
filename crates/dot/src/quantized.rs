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

    /// Whether [`sub_scales`](Self::sub_scales) and [`sub_mins`](Self::sub_mins) count; without them they are 1.
    const SUB_BLOCKS: bool = false;

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

    /// The integer scales of 16 elements each; only those of the block's groups count.
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
    let mut acc = 0.0;
    let groups = x.codes.chunks_exact(B::GROUPS).zip(x.sums.chunks_exact(B::GROUPS));
    for ((block, (x_codes, x_sums)), &x_scale) in row.iter().zip(groups).zip(x.scales) {
        acc += (block.scale() * x_scale) * products(block, x_codes) as f32;
        if B::HAS_MIN {
            acc += (block.min() * x_scale) * minima(block, x_sums) as f32;
        }
    }
    acc
}

/// `y[t * n + r]`: the dots of all rows and tokens, the weights where they lie.
#[inline(always)]
pub(crate) fn in_place<B: Quantized>(blocks: &[B], row_blocks: usize, x: Q8Rows<'_>, y: &mut [f32]) {
    let n = blocks.len() / row_blocks;
    for (t, y) in y.chunks_exact_mut(n).enumerate() {
        let x = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
        for (row, y) in blocks.chunks_exact(row_blocks).zip(y) {
            *y = dot_quantized(row, x);
        }
    }
}

/// `Σ sub_scale * code * x`, exact: at most 256 * 4096 * 127 in magnitude.
///
/// The scales go into the codes first, which are at most 4096 then: one sum a block, where a sum for each scale would be
/// sixteen of them across lanes.
#[inline(always)]
fn products<B: Quantized>(block: &B, x: &[[i8; 32]]) -> i32 {
    let codes = block.codes();
    let codes = codes.as_ref().as_chunks::<16>().0;
    let x = x.as_flattened();
    if !B::SUB_BLOCKS {
        return codes.as_flattened().iter().zip(x).map(|(&q, &x)| i32::from(q) * i32::from(x)).sum();
    }
    let mut scaled = [[0_i16; 16]; 16];
    for (scaled, (codes, scale)) in scaled.iter_mut().zip(codes.iter().zip(block.sub_scales().as_flattened())) {
        for i in 0..16 {
            scaled[i] = i16::from(codes[i]) * i16::from(*scale);
        }
    }
    scaled.as_flattened().iter().zip(x).map(|(&w, &x)| i32::from(w) * i32::from(x)).sum()
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
