//! Panels: weight rows that are decoded once and run against many tokens.

use core::ops::Range;

use keepq_act::Q8Rows;

use crate::octet::{self, Scales};
use crate::{LANES, Quantized, Target};

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
pub(crate) const TOKENS: usize = 4;

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
    /// The scale of the first sixteen, twice, and that of the last.
    scales: [[[i16; 2]; LANES]; 2],
    /// What the sums of sixteen activations are multiplied by.
    offsets: [[i16; 2]; LANES],
}

/// The floats of a block of eight rows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Head {
    scale: [f32; LANES],
    min: [f32; LANES],
}

impl Codes {
    pub(crate) const ZERO: Self = Self([[0; 32]; 8]);
}

impl Group {
    pub(crate) const ZERO: Self = Self { scales: [[[0; 2]; LANES]; 2], offsets: [[0; 2]; LANES] };
}

impl Head {
    pub(crate) const ZERO: Self = Self { scale: [0.0; LANES], min: [0.0; LANES] };
}

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
    for half in 0..2 {
        let rows = octet::rows(blocks, row_blocks, half * LANES);
        for (i, b) in range.clone().enumerate() {
            let rows = octet::blocks(rows, b);
            let scales = Scales::new(target, rows);
            target.store(scales.scale, &mut panel.heads[i][half].scale);
            target.store(scales.min, &mut panel.heads[i][half].min);
            let codes = &mut panel.codes[i * B::GROUPS..][..B::GROUPS];
            octet::unrolled(
                B::GROUPS,
                #[inline(always)]
                |g| {
                    let columns = octet::codes(target, rows, g);
                    for q in 0..8 {
                        target.store_bytes(columns[q], &mut codes[g][half].0[q]);
                    }
                    if B::SUB_BLOCKS {
                        let group = &mut panel.groups[2 * i + half][g];
                        for j in 0..32 / B::SUB_BLOCK {
                            let scale = scales.sub_block(target, g * (32 / B::SUB_BLOCK) + j);
                            target.store_pairs(scale, &mut group.scales[j]);
                        }
                        target.store_pairs(scales.offsets::<B>(target, g), &mut group.offsets);
                    }
                },
            );
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
        let mut total = [[target.splat_i32(0); 2]; TOKENS];
        for t in 0..TOKENS {
            total[t] = [octet::start::<T, B>(target, x_sums[t]); 2];
        }
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
                                target.load_pairs(&groups[half][g].scales[quads * 4 / B::SUB_BLOCK]),
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
                        let offsets = target.load_pairs(&groups[half][g].offsets);
                        total[t][half] = target.dot_pairs(total[t][half], offsets, x_sums[t][g]);
                    }
                }
            }
        }
        for half in 0..2 {
            let head = &panel.heads[b][half];
            let floats = [target.load(&head.scale), target.load(&head.min)];
            for t in 0..TOKENS {
                let mut msum = target.splat_i32(0);
                if B::HAS_MIN && B::SUB_BLOCKS {
                    for g in 0..B::GROUPS {
                        msum = target.dot_pairs(msum, target.load_pairs(&groups[half][g].offsets), x_sums[t][g]);
                    }
                } else if B::HAS_MIN {
                    msum = target.splat_i32(i32::from(x_sums[t][0][0] + x_sums[t][0][1]));
                }
                acc[t][half] = octet::step::<T, B>(target, acc[t][half], floats, x[t].scales[b], total[t][half], msum);
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
