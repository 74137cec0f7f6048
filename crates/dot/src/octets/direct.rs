//! A few tokens by eight rows side by side, whose codes go from memory to the products.

use keepq_act::Q8Rows;

use super::octet::Octet;
use super::rows::Rows;
use super::scales::Scales;
use super::{bias, octet_codes, products, quads, step, widen};
use crate::columns::eight;
use crate::{LANES, Quantized, Target};

/// The most tokens for which this is faster than a panel.
pub(crate) const MOST_TOKENS: usize = 6;

/// Rows that are best taken together: of eight streams an odd number each, since a power of two of rows apart they would share the
/// lines of a cache (0.85 to 0.9 of this, by sixteen).
pub(crate) const DIRECT_ROWS: usize = 15 * LANES;

/// `y[t * n + r]`: the dots of all rows and at most [`MOST_TOKENS`] tokens, four, two or one at a time: rows that are read again lie
/// in a cache by then.
pub(crate) fn direct<T: Target, B: Quantized, R: Rows<B>>(target: T, rows: R, x: Q8Rows<'_>, y: &mut [f32]) {
    let (n, row_blocks) = (rows.n(), rows.row_blocks());
    let m = y.len() / n;
    let mut done = 0;
    while done < m {
        let at_once = match (m - done).min(R::TOKENS) {
            4 => 4,
            2 | 3 => 2,
            _ => 1,
        };
        let x = x.blocks(done * row_blocks..(done + at_once) * row_blocks, B::GROUPS);
        let y = &mut y[done * n..(done + at_once) * n];
        match at_once {
            4 => target.run(
                #[inline(always)]
                || tokens::<T, B, 4>(target, rows, x, y),
            ),
            2 => target.run(
                #[inline(always)]
                || tokens::<T, B, 2>(target, rows, x, y),
            ),
            _ => target.run(
                #[inline(always)]
                || tokens::<T, B, 1>(target, rows, x, y),
            ),
        }
        done += at_once;
    }
}

/// [`direct`] of `M` tokens.
#[inline(always)]
fn tokens<T: Target, B: Quantized, const M: usize>(target: T, rows: impl Rows<B>, x: Q8Rows<'_>, y: &mut [f32]) {
    let (n, row_blocks) = (rows.n(), rows.row_blocks());
    let mut tokens = [x; M];
    for t in 0..M {
        tokens[t] = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
    }
    for i in 0..n.div_ceil(LANES) {
        let mut acc = [target.splat(0.0); M];
        for (b, octet) in rows.stream(i).enumerate() {
            if B::SUB_BLOCKS {
                super_block(target, octet, tokens, b, &mut acc);
            } else {
                small_block(target, octet, tokens, b, &mut acc);
            }
        }
        for t in 0..M {
            let mut lanes = [0.0; LANES];
            target.store(acc[t], &mut lanes);
            for r in 0..LANES {
                if let Some(y) = y[t * n..][..n].get_mut(rows.row(i, r)) {
                    *y = lanes[r];
                }
            }
        }
    }
}

/// Carries the chains of eight rows on by a super-block.
#[inline(always)]
fn super_block<T: Target, B: Quantized, const M: usize>(
    target: T,
    octet: impl Octet<B>,
    tokens: [Q8Rows<'_>; M],
    b: usize,
    acc: &mut [T::F32s; M],
) {
    let scales = Scales::new(target, octet);
    let (mut codes, mut sums) = ([&[][..]; M], [&[][..]; M]);
    for t in 0..M {
        codes[t] = &tokens[t].codes[b * 8..][..8];
        sums[t] = &tokens[t].sums[b * 8..][..8];
    }
    let mut offsets = [target.splat_i32(0); M];
    if B::HAS_MIN || bias::<T, B>() > 0 {
        eight(
            #[inline(always)]
            |g| {
                // In sub-blocks of 32 both sums are multiplied by the same number.
                let by = scales.offsets::<B>(target, g);
                for t in 0..M {
                    offsets[t] = target.settled_i32(target.dot_pairs(offsets[t], by, sums[t][g]));
                }
            },
        );
    }
    let mut isum = if bias::<T, B>() > 0 { offsets } else { [target.splat_i32(0); M] };
    let mut partial = [[target.nothing(); M]; 8];
    octet_codes::<T, B>(
        target,
        octet,
        #[inline(always)]
        |g, q, w| {
            for t in 0..M {
                let x = target.splat_bytes(codes[t][g].as_chunks().0[q]);
                let sum = if q.is_multiple_of(quads::<T, B>()) { target.nothing() } else { partial[g][t] };
                partial[g][t] = products::<T, B>(target, sum, w, x);
            }
            if q % quads::<T, B>() == quads::<T, B>() - 1 {
                let scale = scales.sub_block(target, (32 * g + 4 * q) / B::SUB_BLOCK);
                for t in 0..M {
                    isum[t] = widen::<T, B>(target, isum[t], partial[g][t], || scale);
                }
            }
        },
    );
    let floats = octet.floats(target);
    for t in 0..M {
        acc[t] = step::<T, B>(target, acc[t], floats, tokens[t].scales[b], isum[t], offsets[t]);
    }
}

/// The same by a block of 32.
#[inline(always)]
fn small_block<T: Target, B: Quantized, const M: usize>(
    target: T,
    octet: impl Octet<B>,
    tokens: [Q8Rows<'_>; M],
    b: usize,
    acc: &mut [T::F32s; M],
) {
    let (mut isum, mut msum, mut codes) = ([target.splat_i32(0); M], [target.splat_i32(0); M], [&[0; 32]; M]);
    for t in 0..M {
        codes[t] = &tokens[t].codes[b];
        let [first, last] = tokens[t].sums[b].map(i32::from);
        if bias::<T, B>() > 0 {
            isum[t] = target.splat_i32(-i32::from(bias::<T, B>()) * (first + last));
        }
        if B::HAS_MIN {
            msum[t] = target.splat_i32(first + last);
        }
    }
    let mut sums = [target.nothing(); M];
    octet_codes::<T, B>(
        target,
        octet,
        #[inline(always)]
        |_, q, w| {
            for t in 0..M {
                let x = target.splat_bytes(codes[t].as_chunks().0[q]);
                let sum = if q.is_multiple_of(quads::<T, B>()) { target.nothing() } else { sums[t] };
                sums[t] = products::<T, B>(target, sum, w, x);
                if q % quads::<T, B>() == quads::<T, B>() - 1 {
                    isum[t] = widen::<T, B>(target, isum[t], sums[t], || unreachable!("no sub-blocks"));
                }
            }
        },
    );
    let floats = octet.floats(target);
    for t in 0..M {
        acc[t] = step::<T, B>(target, acc[t], floats, tokens[t].scales[b], isum[t], msum[t]);
    }
}
