//! Quantized weights by int8 activations: one body for all types of blocks of 32.

use core::ops::Range;

use keepq_act::Q8_0Rows;
use keepq_blocks::Block;

use crate::{LANES, Target};

/// What a kernel needs to know of a block of 32.
pub trait Quantized: Block {
    /// Whether [`min`](Self::min) counts.
    const HAS_MIN: bool;

    /// The codes in the order of k, with their bias removed.
    fn codes(&self) -> [i8; 32];
    /// The scale `d` of `w = d * q + m`.
    fn scale(&self) -> f32;
    /// The minimum `m` of `w = d * q + m`; 0 where the type has none.
    fn min(&self) -> f32;
}

/// One step of the chain that defines a dot (docs/NUMERICS.md): what a block adds to the sum of those before it.
#[inline(always)]
fn step<B: Quantized>(acc: f32, block: &B, isum: i32, x_scale: f32, x_sum: i32) -> f32 {
    let acc = acc + (block.scale() * x_scale) * isum as f32;
    if B::HAS_MIN { acc + (block.min() * x_scale) * x_sum as f32 } else { acc }
}

/// The dot of one weight row and one token, in place: the definition.
///
/// `row` and the three slices of `x` have the same number of blocks (the shorter counts).
#[inline(always)]
#[must_use]
pub fn dot_quantized<B: Quantized>(row: &[B], x: Q8_0Rows<'_>) -> f32 {
    let mut acc = 0.0;
    for (((block, codes), &scale), &sum) in row.iter().zip(x.codes).zip(x.scales).zip(x.sums) {
        let isum = dot_i8(&block.codes(), codes);
        acc = step(acc, block, isum, scale, sum);
    }
    acc
}

/// `y[t * n + r]`: the dots of all rows and tokens, the weights where they lie.
#[inline(always)]
pub(crate) fn in_place<B: Quantized>(blocks: &[B], row_blocks: usize, x: Q8_0Rows<'_>, y: &mut [f32]) {
    let n = blocks.len() / row_blocks;
    for (t, y) in y.chunks_exact_mut(n).enumerate() {
        let x = x.blocks(t * row_blocks..(t + 1) * row_blocks);
        for (row, y) in blocks.chunks_exact(row_blocks).zip(y) {
            *y = dot_quantized(row, x);
        }
    }
}

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
pub(crate) const TOKENS: usize = 4;

/// Blocks of k that a panel holds: 64 blocks of 32 elements of 16 rows are 128 KiB, which L2 holds.
pub(crate) const DEPTH: usize = 64;

/// One block of [`ROWS`] rows of weights, a lane a row; the first eight rows, then the others.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct WeightBlock {
    codes: [[[f32; LANES]; 32]; 2],
    scale: [[f32; LANES]; 2],
    min: [[f32; LANES]; 2],
}

impl WeightBlock {
    pub(crate) const ZERO: Self =
        Self { codes: [[[0.0; LANES]; 32]; 2], scale: [[0.0; LANES]; 2], min: [[0.0; LANES]; 2] };
}

/// [`DEPTH`] blocks of codes of a token, as floats.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct TokenPanel([[f32; 32]; DEPTH]);

impl TokenPanel {
    pub(crate) const ZERO: Self = Self([[0.0; 32]; DEPTH]);
}

/// `y[t * n + r]`: the dots of `n` weight rows (at most [`ROWS`]) and all tokens, from rows that are decoded once.
///
/// A lane is a row, so that there is nothing to add up across lanes and each lane's chain is the one that defines the
/// result. Codes are held as *floats*: the sum over a block is an integer under 2^24, which f32 holds exactly at every
/// step, so that the integer product is an ordinary float one. That is what compilers vectorize well for any instruction
/// set: 28 GOP/s on baseline x86-64 against 9 to 13 for the same loops over i16, 83 against 22 to 28 with AVX2 and FMA.
#[inline(always)]
pub(crate) fn panel<T: Target, B: Quantized>(
    target: T,
    blocks: &[B],
    n: usize,
    x: Q8_0Rows<'_>,
    y: &mut [f32],
    weights: &mut [WeightBlock],
    tokens: &mut [TokenPanel],
) {
    let row_blocks = blocks.len() / n;
    y.fill(0.0);
    for first in (0..row_blocks).step_by(DEPTH) {
        let range = first..row_blocks.min(first + DEPTH);
        let weights = fill_weights(blocks, row_blocks, range.clone(), weights);
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let rows = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + range.start..start + range.end)
            });
            for (row, panel) in rows.iter().zip(&mut *tokens) {
                widen(row.codes.as_flattened(), panel.0.as_flattened_mut());
            }
            tile::<T, B>(target, weights, tokens, &rows, n, y);
        }
    }
}

/// Decodes some blocks of each row. Lanes without a row hold zeros.
///
/// Block after block, not row after row: a lane's codes lie a cache line apart, and a panel is larger than L1.
#[inline(always)]
fn fill_weights<'p, B: Quantized>(
    blocks: &[B],
    row_blocks: usize,
    range: Range<usize>,
    panel: &'p mut [WeightBlock],
) -> &'p [WeightBlock] {
    let panel = &mut panel[..range.len()];
    let n = blocks.len() / row_blocks;
    for (b, lanes) in range.zip(&mut *panel) {
        let mut codes = [[0; 32]; ROWS];
        for r in 0..n {
            let block = &blocks[r * row_blocks + b];
            codes[r] = block.codes();
            lanes.scale[r / LANES][r % LANES] = block.scale();
            lanes.min[r / LANES][r % LANES] = block.min();
        }
        for (rows, lanes) in codes.as_chunks::<LANES>().0.iter().zip(&mut lanes.codes) {
            widen(transpose(rows).as_flattened(), lanes.as_flattened_mut());
        }
    }
    panel
}

/// Codes of eight rows, element by element instead of row by row.
///
/// Eight bytes of eight rows at a time: halves, quarters and bytes of 64-bit words change places.
#[inline(always)]
fn transpose(rows: &[[i8; 32]; LANES]) -> [[i8; LANES]; 32] {
    let mut columns = [[0; LANES]; 32];
    for (group, columns) in columns.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut words = [0; LANES];
        for (word, row) in words.iter_mut().zip(rows) {
            *word = u64::from_le_bytes(row.as_chunks::<LANES>().0[group].map(i8::cast_unsigned));
        }
        exchange::<4>(&mut words, 0x0000_0000_ffff_ffff);
        exchange::<2>(&mut words, 0x0000_ffff_0000_ffff);
        exchange::<1>(&mut words, 0x00ff_00ff_00ff_00ff);
        for (column, word) in columns.iter_mut().zip(words) {
            *column = word.to_le_bytes().map(u8::cast_signed);
        }
    }
    columns
}

/// In each pair of words `DISTANCE` apart, the bytes outside `mask` of the first change places with those inside it of
/// the second.
#[inline(always)]
fn exchange<const DISTANCE: usize>(words: &mut [u64; LANES], mask: u64) {
    for i in 0..LANES {
        if i & DISTANCE == 0 {
            let swapped = (words[i] >> (8 * DISTANCE) ^ words[i + DISTANCE]) & mask;
            words[i + DISTANCE] ^= swapped;
            words[i] ^= swapped << (8 * DISTANCE);
        }
    }
}

/// Codes as floats. A loop over long slices, which compilers vectorize where they do not for arrays.
#[inline(always)]
fn widen(codes: &[i8], floats: &mut [f32]) {
    for (float, code) in floats.iter_mut().zip(codes) {
        *float = f32::from(*code);
    }
}

/// Carries the chains of up to [`TOKENS`] tokens on by the blocks of a panel, in `y`.
#[inline(always)]
fn tile<T: Target, B: Quantized>(
    target: T,
    weights: &[WeightBlock],
    tokens: &[TokenPanel],
    x: &[Q8_0Rows<'_>; TOKENS],
    n: usize,
    y: &mut [f32],
) {
    let mut chains = [[[0.0_f32; LANES]; 2]; TOKENS];
    for (chains, y) in chains.iter_mut().zip(y.chunks_exact(n)) {
        chains.as_flattened_mut()[..n].copy_from_slice(y);
    }
    let mut acc = chains.map(|lanes| [target.load(&lanes[0]), target.load(&lanes[1])]);
    for (b, w) in weights.iter().enumerate() {
        let mut isum = [[target.splat(0.0); 2]; TOKENS];
        for i in 0..32 {
            let w = [target.load(&w.codes[0][i]), target.load(&w.codes[1][i])];
            for token in 0..TOKENS {
                let x = target.splat(tokens[token].0[b][i]);
                isum[token][0] = target.exact(w[0], x, isum[token][0]);
                isum[token][1] = target.exact(w[1], x, isum[token][1]);
            }
        }
        for half in 0..2 {
            let (scale, min) = (target.load(&w.scale[half]), target.load(&w.min[half]));
            for token in 0..TOKENS {
                let x_scale = target.splat(x[token].scales[b]);
                let p = target.mul(scale, x_scale);
                acc[token][half] = target.add(acc[token][half], target.mul(p, isum[token][half]));
                if B::HAS_MIN {
                    let p = target.mul(min, x_scale);
                    let sum = target.splat(x[token].sums[b] as f32);
                    acc[token][half] = target.add(acc[token][half], target.mul(p, sum));
                }
            }
        }
    }
    for (acc, lanes) in acc.iter().zip(&mut chains) {
        target.store(acc[0], &mut lanes[0]);
        target.store(acc[1], &mut lanes[1]);
    }
    for (chains, y) in chains.iter().zip(y.chunks_exact_mut(n)) {
        y.copy_from_slice(&chains.as_flattened()[..n]);
    }
}

/// Exact: 32 products of at most 128 * 127.
#[inline(always)]
fn dot_i8(a: &[i8; 32], b: &[i8; 32]) -> i32 {
    let mut sum = 0;
    for i in 0..32 {
        sum += i32::from(a[i]) * i32::from(b[i]);
    }
    sum
}
