//! Panels: weight rows that are decoded once and run against many tokens.

use core::ops::Range;

use keepq_act::Q8Rows;

use crate::octet::{self, Codes, Group, Head};
use crate::{LANES, Quantized, Target};

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
pub(crate) const TOKENS: usize = 4;

/// Groups of 32 elements that a panel holds: 64 groups of 16 rows are 44 KiB, which L2 holds.
pub(crate) const DEPTH: usize = 64;

/// The memory of a panel: of each group or block the first eight rows, then the others.
pub(crate) struct Panel<'s> {
    pub codes: &'s mut [[Codes; 2]],
    pub groups: &'s mut [[Group; 8]],
    pub heads: &'s mut [[Head; 2]],
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
        fill(target, blocks, row_blocks, range.clone(), panel);
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let rows = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + range.start..start + range.end, B::GROUPS)
            });
            tile::<T, B>(target, range.len(), &rows, panel, n, y);
        }
    }
}

/// Decodes some blocks of each row.
#[inline(always)]
fn fill<T: Target, B: Quantized>(
    target: T,
    blocks: &[B],
    row_blocks: usize,
    range: Range<usize>,
    panel: &mut Panel<'_>,
) {
    for (i, b) in range.enumerate() {
        for half in 0..2 {
            let rows = octet::octet(blocks, row_blocks, half * LANES, b);
            let groups = if B::SUB_BLOCKS { &mut panel.groups[2 * i + half][..] } else { &mut [] };
            octet::scales(rows, &mut panel.heads[i][half], groups);
            for g in 0..B::GROUPS {
                let codes = octet::codes(target, rows, g);
                for q in 0..8 {
                    target.store_bytes(codes[q], &mut panel.codes[i * B::GROUPS + g][half].0[q]);
                }
            }
        }
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
        let codes = &panel.codes[b * B::GROUPS..(b + 1) * B::GROUPS];
        let groups: [&[Group]; 2] =
            if B::SUB_BLOCKS { [&panel.groups[2 * b][..], &panel.groups[2 * b + 1][..]] } else { [&[], &[]] };
        let mut x_codes = [&x[0].codes[..0]; TOKENS];
        let mut x_sums = [&x[0].sums[..0]; TOKENS];
        for t in 0..TOKENS {
            x_codes[t] = &x[t].codes[b * B::GROUPS..(b + 1) * B::GROUPS];
            x_sums[t] = &x[t].sums[b * B::GROUPS..(b + 1) * B::GROUPS];
        }
        let start = octet::start::<T, B, TOKENS>(target, x_sums);
        let mut total = start.map(|start| [start; 2]);
        for g in 0..B::GROUPS {
            for quads in (0..8).step_by(B::TERMS) {
                let mut sum = [[target.nothing(); 2]; TOKENS];
                for q in quads..quads + B::TERMS {
                    let w = [target.load_bytes(&codes[g][0].0[q]), target.load_bytes(&codes[g][1].0[q])];
                    for t in 0..TOKENS {
                        let x = target.splat_bytes(x_codes[t][g].as_chunks::<4>().0[q]);
                        for half in 0..2 {
                            sum[t][half] = if B::SIGNED {
                                target.signed_products(w[half], x)
                            } else {
                                target.products(sum[t][half], w[half], x)
                            };
                        }
                    }
                }
                for t in 0..TOKENS {
                    for half in 0..2 {
                        total[t][half] = if B::SUB_BLOCKS {
                            target.widen_scaled(
                                total[t][half],
                                sum[t][half],
                                &groups[half][g].scales[quads * 4 / B::SUB_BLOCK],
                            )
                        } else {
                            target.widen(total[t][half], sum[t][half])
                        };
                    }
                }
            }
            if B::SUB_BLOCKS && B::BIAS > 0 {
                for t in 0..TOKENS {
                    for half in 0..2 {
                        total[t][half] = target.pairs(total[t][half], &groups[half][g].offsets, x_sums[t][g]);
                    }
                }
            }
        }
        for t in 0..TOKENS {
            for half in 0..2 {
                let head = &panel.heads[b][half];
                let (x_scale, sums) = (x[t].scales[b], x_sums[t]);
                acc[t][half] =
                    octet::step::<T, B>(target, acc[t][half], head, groups[half], x_scale, sums, total[t][half]);
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
