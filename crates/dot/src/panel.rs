//! Panels: weight rows that are decoded once and run against many tokens.
//!
//! A lane is a row, so that there is nothing to add up across lanes and each lane's chain is the one that defines the
//! result. Codes are held as *floats*: sums of products stay under 2^24, which f32 holds exactly at every step, so that the
//! integer product is an ordinary float one. That is what compilers vectorize well for any instruction set.

use core::ops::Range;

use keepq_act::Q8Rows;

use crate::{LANES, Quantized, Target};

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
pub(crate) const TOKENS: usize = 4;

/// Groups of 32 elements that a panel holds: 64 groups of 16 rows are 128 KiB, which L2 holds.
pub(crate) const DEPTH: usize = 64;

/// A register's worth of floats, twice: one a row of the panel.
type Lanes = [[f32; LANES]; 2];

/// A group of 32 elements of [`ROWS`] rows of weights, a lane a row; the first eight rows, then the others.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct WeightGroup {
    /// Products of code and sub-block scale.
    codes: [[[f32; LANES]; 32]; 2],
    /// Sub-block minima of each 16.
    mins: [Lanes; 2],
}

/// Scales and minima of a block of [`ROWS`] rows of weights.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct WeightHead {
    scale: Lanes,
    min: Lanes,
}

/// [`DEPTH`] groups of codes of a token, as floats.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct TokenPanel([[f32; 32]; DEPTH]);

impl WeightGroup {
    pub(crate) const ZERO: Self = Self { codes: [[[0.0; LANES]; 32]; 2], mins: [[[0.0; LANES]; 2]; 2] };
}

impl WeightHead {
    pub(crate) const ZERO: Self = Self { scale: [[0.0; LANES]; 2], min: [[0.0; LANES]; 2] };
}

impl TokenPanel {
    pub(crate) const ZERO: Self = Self([[0.0; 32]; DEPTH]);
}

/// The memory of a panel.
pub(crate) struct Panel<'s> {
    pub groups: &'s mut [WeightGroup],
    pub heads: &'s mut [WeightHead],
    pub tokens: &'s mut [TokenPanel],
}

/// `y[t * n + r]`: the dots of `n` weight rows (at most [`ROWS`]) and all tokens.
#[inline(always)]
pub(crate) fn panel<T: Target, B: Quantized>(
    target: T,
    blocks: &[B],
    n: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
    panel: &mut Panel<'_>,
) {
    let row_blocks = blocks.len() / n;
    let depth = DEPTH / B::GROUPS;
    y.fill(0.0);
    for first in (0..row_blocks).step_by(depth) {
        let range = first..row_blocks.min(first + depth);
        fill_weights(target, blocks, row_blocks, range.clone(), panel);
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let rows = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + range.start..start + range.end, B::GROUPS)
            });
            for (row, token) in rows.iter().zip(&mut *panel.tokens) {
                widen(row.codes.as_flattened(), token.0.as_flattened_mut());
            }
            tile::<T, B>(target, range.len(), &rows, panel, n, y);
        }
    }
}

/// Decodes some blocks of each row. Lanes without a row hold zeros, or what is left of an earlier strip.
///
/// Block after block, not row after row: a lane's codes lie a cache line apart, and a panel is larger than L1.
#[inline(always)]
fn fill_weights<T: Target, B: Quantized>(
    target: T,
    blocks: &[B],
    row_blocks: usize,
    range: Range<usize>,
    panel: &mut Panel<'_>,
) {
    let n = blocks.len() / row_blocks;
    for ((b, groups), head) in range.zip(panel.groups.chunks_exact_mut(B::GROUPS)).zip(&mut *panel.heads) {
        let mut codes = [[[0; 32]; ROWS]; 8];
        let mut scales = [[[[0.0; LANES]; 2]; 2]; 8]; // [group][16 of it][eight rows][row]
        for r in 0..n {
            let (half, lane) = (r / LANES, r % LANES);
            let block = &blocks[r * row_blocks + b];
            for (codes, group) in codes.iter_mut().zip(block.codes().as_ref().as_chunks::<32>().0) {
                codes[r] = *group;
            }
            head.scale[half][lane] = block.scale();
            head.min[half][lane] = block.min();
            if !B::SUB_BLOCKS {
                continue;
            }
            let (sub_scales, sub_mins) = (block.sub_scales(), block.sub_mins());
            for g in 0..B::GROUPS {
                for i in 0..2 {
                    scales[g][i][half][lane] = f32::from(sub_scales[g][i]);
                    groups[g].mins[i][half][lane] = f32::from(sub_mins[g][i]);
                }
            }
        }
        for ((group, codes), scales) in groups.iter_mut().zip(&codes).zip(&scales) {
            for (half, (rows, lanes)) in codes.as_chunks::<LANES>().0.iter().zip(&mut group.codes).enumerate() {
                widen(transpose(rows).as_flattened(), lanes.as_flattened_mut());
                if B::SUB_BLOCKS {
                    for i in 0..32 {
                        let scaled = target.mul(target.load(&lanes[i]), target.load(&scales[i / 16][half]));
                        target.store(scaled, &mut lanes[i]);
                    }
                }
            }
        }
    }
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
    blocks: usize,
    x: &[Q8Rows<'_>; TOKENS],
    panel: &Panel<'_>,
    n: usize,
    y: &mut [f32],
) {
    let mut chains = [[[0.0_f32; LANES]; 2]; TOKENS];
    for (chains, y) in chains.iter_mut().zip(y.chunks_exact(n)) {
        chains.as_flattened_mut()[..n].copy_from_slice(y);
    }
    let mut acc = chains.map(|lanes| [target.load(&lanes[0]), target.load(&lanes[1])]);
    for b in 0..blocks {
        let groups = &panel.groups[b * B::GROUPS..(b + 1) * B::GROUPS];
        let isum = products::<T, B>(target, groups, &*panel.tokens, b);
        let head = &panel.heads[b];
        for half in 0..2 {
            let (scale, min) = (target.load(&head.scale[half]), target.load(&head.min[half]));
            for token in 0..TOKENS {
                let x_scale = target.splat(x[token].scales[b]);
                let p = target.mul(scale, x_scale);
                acc[token][half] = target.add(acc[token][half], target.mul(p, isum[token][half]));
                if B::HAS_MIN {
                    let p = target.mul(min, x_scale);
                    let sums = &x[token].sums[b * B::GROUPS..(b + 1) * B::GROUPS];
                    let msum = minima::<T, B>(target, groups, half, sums);
                    acc[token][half] = target.add(acc[token][half], target.mul(p, msum));
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

/// The integer sums of a block, converted to floats once: [`Quantized::EXACT_GROUPS`] groups at a time are added up in
/// floats, and these sums in integers.
#[inline(always)]
fn products<T: Target, B: Quantized>(
    target: T,
    groups: &[WeightGroup],
    tokens: &[TokenPanel],
    b: usize,
) -> [[T::F32s; 2]; TOKENS] {
    let mut isum = [[target.splat(0.0); 2]; TOKENS];
    let mut total = [[target.to_i32(target.splat(0.0)); 2]; TOKENS];
    let pieces = B::GROUPS / B::EXACT_GROUPS;
    for piece in 0..pieces {
        isum = [[target.splat(0.0); 2]; TOKENS];
        for g in piece * B::EXACT_GROUPS..(piece + 1) * B::EXACT_GROUPS {
            let w = &groups[g].codes;
            for i in 0..32 {
                let w = [target.load(&w[0][i]), target.load(&w[1][i])];
                for token in 0..TOKENS {
                    let x = target.splat(tokens[token].0[b * B::GROUPS + g][i]);
                    isum[token][0] = target.exact(w[0], x, isum[token][0]);
                    isum[token][1] = target.exact(w[1], x, isum[token][1]);
                }
            }
        }
        if pieces > 1 {
            for token in 0..TOKENS {
                for half in 0..2 {
                    total[token][half] = target.add_i32(total[token][half], target.to_i32(isum[token][half]));
                }
            }
        }
    }
    if pieces > 1 {
        for token in 0..TOKENS {
            for half in 0..2 {
                isum[token][half] = target.to_f32(total[token][half]);
            }
        }
    }
    isum
}

/// The minima of a block by the sums of a token, in eight rows. Exact: under 2^24 as well.
#[inline(always)]
fn minima<T: Target, B: Quantized>(target: T, groups: &[WeightGroup], half: usize, sums: &[[i16; 2]]) -> T::F32s {
    if !B::SUB_BLOCKS {
        return target.splat(f32::from(sums[0][0] + sums[0][1]));
    }
    let mut msum = target.splat(0.0);
    for (group, sums) in groups.iter().zip(sums) {
        for i in 0..2 {
            let sum = target.splat(f32::from(sums[i]));
            msum = target.exact(target.load(&group.mins[i][half]), sum, msum);
        }
    }
    msum
}
