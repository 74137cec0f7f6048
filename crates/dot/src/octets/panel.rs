//! Panels: weight rows that are decoded once and run against many tokens.

use core::ops::Range;

use keepq_act::Q8Rows;

use super::{Scales, Tokens, add_products, each_group, offset_sums, step};
use crate::{LANES, Quantized, Target};

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
const TOKENS: usize = 4;

/// Groups of 32 elements that a panel holds: 64 groups of 16 rows are 44 KiB, which L2 holds.
pub(crate) const DEPTH: usize = 64;

/// Codes of 32 elements of eight rows: four neighbours of each row in turn, then the next four.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Codes([[u8; 32]; 8]);

/// What the codes of 32 elements of eight rows are multiplied by, and what is added to them.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Group {
    /// The scale of the first sub-block, twice, and that of the last.
    scales: [[[i16; 2]; LANES]; 2],
    /// What the sums of sixteen activations are multiplied by.
    offsets: [[i16; 2]; LANES],
}

/// The floats of a block of eight rows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Head([[f32; LANES]; 2]);

impl Codes {
    pub(crate) const ZERO: Self = Self([[0; 32]; 8]);
}

impl Group {
    pub(crate) const ZERO: Self = Self { scales: [[[0; 2]; LANES]; 2], offsets: [[0; 2]; LANES] };
}

impl Head {
    pub(crate) const ZERO: Self = Self([[0.0; LANES]; 2]);
}

/// The memory of a panel: of each group or block the first eight rows, then the others.
pub(crate) struct Panel<'s> {
    pub codes: &'s mut [[Codes; 2]],
    /// Only types with sub-blocks use it.
    pub groups: &'s mut [[Group; 2]],
    pub heads: &'s mut [[Head; 2]],
}

/// `y[t * n + r]`: the dots of `n` weight rows (at most [`ROWS`]) and all tokens.
#[inline(always)]
pub(crate) fn panel<T: Target, B: Quantized>(
    target: T,
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
    panel: &mut Panel<'_>,
) {
    let n = blocks.len() / row_blocks;
    let depth = DEPTH / B::GROUPS;
    y.fill(0.0);
    for first in (0..row_blocks).step_by(depth) {
        let range = first..row_blocks.min(first + depth);
        for half in 0..2 {
            fill(target, super::rows(blocks, row_blocks, half * LANES), range.clone(), half, panel);
        }
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let tokens = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + range.start..start + range.end, B::GROUPS)
            });
            tile::<T, B>(target, tokens, range.len(), panel, n, y);
        }
    }
}

/// Decodes some blocks of eight rows.
#[inline(always)]
fn fill<T: Target, B: Quantized>(
    target: T,
    rows: [&[B]; LANES],
    range: Range<usize>,
    half: usize,
    panel: &mut Panel<'_>,
) {
    for (i, b) in range.enumerate() {
        let rows = super::blocks(rows, b);
        let scales = Scales::new(target, rows);
        for (float, to) in scales.floats.iter().zip(&mut panel.heads[i][half].0) {
            target.store(*float, to);
        }
        let codes = &mut panel.codes[i * B::GROUPS..][..B::GROUPS];
        let groups = if B::SUB_BLOCKS { &mut panel.groups[i * B::GROUPS..][..B::GROUPS] } else { &mut [] };
        each_group::<B>(
            #[inline(always)]
            |g| {
                for (columns, to) in super::codes(target, rows, g).iter().zip(&mut codes[g][half].0) {
                    target.store_bytes(*columns, to);
                }
                if B::SUB_BLOCKS {
                    let group = &mut groups[g][half];
                    for j in 0..32 / B::SUB_BLOCK {
                        target.store_pairs(scales.sub_block(target, g * (32 / B::SUB_BLOCK) + j), &mut group.scales[j]);
                    }
                    target.store_pairs(scales.offsets::<B>(target, g), &mut group.offsets);
                }
            },
        );
    }
}

/// Carries the chains of up to [`TOKENS`] tokens on by the blocks of a panel, in `y`.
#[inline(always)]
fn tile<T: Target, B: Quantized>(
    target: T,
    tokens: [Q8Rows<'_>; TOKENS],
    blocks: usize,
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
        let codes = &panel.codes[b * B::GROUPS..][..B::GROUPS];
        let groups = if B::SUB_BLOCKS { &panel.groups[b * B::GROUPS..][..B::GROUPS] } else { &[] };
        let x = Tokens::new::<B>(tokens, b);
        let offsets =
            offset_sums::<T, B, 2, TOKENS>(target, x.sums, |g, half| target.load_pairs(&groups[g][half].offsets));
        let mut isum = if B::BIAS > 0 { offsets } else { [[target.splat_i32(0); 2]; TOKENS] };
        for g in 0..B::GROUPS {
            let x = x.codes.map(|codes| &codes[g]);
            let codes = |q: usize, half: usize| target.load_bytes(&codes[g][half].0[q]);
            let scale = |j: usize, half: usize| target.load_pairs(&groups[g][half].scales[j]);
            add_products::<T, B, 2, TOKENS>(target, x, codes, scale, &mut isum);
        }
        for half in 0..2 {
            let floats = panel.heads[b][half].0.each_ref().map(|float| target.load(float));
            for t in 0..TOKENS {
                let x_scale = tokens[t].scales[b];
                acc[t][half] = step::<T, B>(target, acc[t][half], floats, x_scale, isum[t][half], offsets[t][half]);
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
