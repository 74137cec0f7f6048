//! Few tokens: each code is decoded where it lies and stays in a register.

use keepq_act::Q8Rows;

use super::{Scales, Tokens, add_products, each_group, offset_sums, step};
use crate::{LANES, Quantized, Target};

/// The most tokens for which this is faster than a panel.
pub(crate) const MOST_TOKENS: usize = 2;

/// `y[t * n + r]`: the dots of all rows and `M` tokens.
#[inline(always)]
pub(crate) fn narrow<T: Target, B: Quantized, const M: usize>(
    target: T,
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
) {
    let n = blocks.len() / row_blocks;
    let mut tokens = [x; M];
    for t in 0..M {
        tokens[t] = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
    }
    for first in (0..n).step_by(LANES) {
        let rows = super::rows(blocks, row_blocks, first);
        let mut acc = [target.splat(0.0); M];
        for b in 0..row_blocks {
            let rows = super::blocks(rows, b);
            let scales = Scales::new(target, rows);
            let x = Tokens::new::<B>(tokens, b);
            let offsets = offset_sums::<T, B, 1, M>(target, x.sums, |g, _| scales.offsets::<B>(target, g));
            let mut isum = if B::BIAS > 0 { offsets } else { [[target.splat_i32(0)]; M] };
            each_group::<B>(
                #[inline(always)]
                |g| {
                    let w = super::codes(target, rows, g);
                    let scale = |j, _| scales.sub_block(target, g * (32 / B::SUB_BLOCK) + j);
                    add_products::<T, B, 1, M>(target, x.codes.map(|codes| &codes[g]), |q, _| w[q], scale, &mut isum);
                },
            );
            for t in 0..M {
                let x_scale = tokens[t].scales[b];
                acc[t] = step::<T, B>(target, acc[t], scales.floats, x_scale, isum[t][0], offsets[t][0]);
            }
        }
        let rows = LANES.min(n - first);
        for t in 0..M {
            let mut lanes = [0.0; LANES];
            target.store(acc[t], &mut lanes);
            y[t * n + first..][..rows].copy_from_slice(&lanes[..rows]);
        }
    }
}
