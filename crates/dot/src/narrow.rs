//! Few tokens: eight rows at a time where they lie, codes in registers only.

use keepq_act::Q8Rows;

use crate::octet::{self, Group, Head};
use crate::{LANES, Quantized, Target};

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
    let (mut head, mut groups) = (Head::ZERO, [Group::ZERO; 8]);
    for first in (0..n).step_by(LANES) {
        let mut acc = [target.splat(0.0); M];
        for b in 0..row_blocks {
            let rows = octet::octet(blocks, row_blocks, first, b);
            octet::scales(rows, &mut head, &mut groups);
            let mut x_codes = [&x.codes[..0]; M];
            let mut x_sums = [&x.sums[..0]; M];
            for t in 0..M {
                let groups = (t * row_blocks + b) * B::GROUPS..(t * row_blocks + b + 1) * B::GROUPS;
                x_codes[t] = &x.codes[groups.clone()];
                x_sums[t] = &x.sums[groups];
            }
            let mut total = octet::start::<T, B, M>(target, x_sums);
            for g in 0..B::GROUPS {
                let w = octet::codes(target, rows, g);
                for quads in (0..8).step_by(B::TERMS) {
                    let mut sum = [target.nothing(); M];
                    for q in quads..quads + B::TERMS {
                        for t in 0..M {
                            let x = target.splat_bytes(x_codes[t][g].as_chunks::<4>().0[q]);
                            sum[t] = if B::SIGNED {
                                target.signed_products(w[q], x)
                            } else {
                                target.products(sum[t], w[q], x)
                            };
                        }
                    }
                    for t in 0..M {
                        total[t] = if B::SUB_BLOCKS {
                            target.widen_scaled(total[t], sum[t], &groups[g].scales[quads * 4 / B::SUB_BLOCK])
                        } else {
                            target.widen(total[t], sum[t])
                        };
                    }
                }
                if B::SUB_BLOCKS && B::BIAS > 0 {
                    for t in 0..M {
                        total[t] = target.pairs(total[t], &groups[g].offsets, x_sums[t][g]);
                    }
                }
            }
            for t in 0..M {
                let x_scale = x.scales[t * row_blocks + b];
                acc[t] = octet::step::<T, B>(target, acc[t], &head, &groups, x_scale, x_sums[t], total[t]);
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
