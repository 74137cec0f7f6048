//! Few tokens: eight rows at a time where they lie, codes in registers only.

use keepq_act::Q8Rows;

use crate::octet::{self, Scales};
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
    for first in (0..n).step_by(LANES) {
        let rows = octet::rows(blocks, row_blocks, first);
        let mut acc = [target.splat(0.0); M];
        for b in 0..row_blocks {
            let rows = octet::blocks(rows, b);
            let scales = Scales::new(target, rows);
            let mut x_codes = [&x.codes[..0]; M];
            let mut x_sums = [&x.sums[..0]; M];
            let mut isum = [target.splat_i32(0); M];
            let mut msum = [target.splat_i32(0); M];
            for t in 0..M {
                x_codes[t] = &x.codes[(t * row_blocks + b) * B::GROUPS..][..B::GROUPS];
                x_sums[t] = &x.sums[(t * row_blocks + b) * B::GROUPS..][..B::GROUPS];
                isum[t] = octet::start::<T, B>(target, x_sums[t]);
            }
            octet::unrolled(
                B::GROUPS,
                #[inline(always)]
                |g| {
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
                        if B::SUB_BLOCKS {
                            let scale = scales.sub_block(target, (32 * g + 4 * quads) / B::SUB_BLOCK);
                            for t in 0..M {
                                isum[t] = target.widen_scaled(isum[t], sum[t], scale);
                            }
                        } else {
                            for t in 0..M {
                                isum[t] = target.widen(isum[t], sum[t]);
                            }
                        }
                    }
                    if B::SUB_BLOCKS && (B::HAS_MIN || B::BIAS > 0) {
                        let offsets = scales.offsets::<B>(target, g);
                        for t in 0..M {
                            let to = if B::HAS_MIN { &mut msum[t] } else { &mut isum[t] };
                            *to = target.dot_pairs(*to, offsets, x_sums[t][g]);
                        }
                    } else if B::HAS_MIN {
                        for t in 0..M {
                            msum[t] = target.splat_i32(i32::from(x_sums[t][0][0] + x_sums[t][0][1]));
                        }
                    }
                },
            );
            for t in 0..M {
                let x_scale = x.scales[t * row_blocks + b];
                acc[t] = octet::step::<T, B>(target, acc[t], [scales.scale, scales.min], x_scale, isum[t], msum[t]);
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
