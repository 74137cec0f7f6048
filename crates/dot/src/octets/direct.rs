//! Few tokens by rows that are side by side already: codes go from memory to the products.

use keepq_act::Q8Rows;

use super::octet::{Octet, Rows};
use super::scales::Scales;
use super::{products, step, widen};
use crate::columns::eight;
use crate::{LANES, Quantized, Target};

/// `y[t * n + r]`: the dots of all rows and `M` tokens.
#[inline(always)]
pub(crate) fn direct<T: Target, B: Quantized, const M: usize>(
    target: T,
    rows: impl Rows<B>,
    row_blocks: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
) {
    let n = rows.n();
    let mut tokens = [x; M];
    for t in 0..M {
        tokens[t] = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
    }
    for first in (0..n).step_by(LANES) {
        let mut acc = [target.splat(0.0); M];
        for (b, octet) in rows.octets(target, first, 0..row_blocks).enumerate() {
            if B::SUB_BLOCKS {
                super_block(target, octet, tokens, b, &mut acc);
            } else {
                small_block(target, octet, tokens, b, &mut acc);
            }
        }
        for t in 0..M {
            let mut lanes = [0.0; LANES];
            target.store(acc[t], &mut lanes);
            let rows = LANES.min(n - first);
            y[t * n + first..][..rows].copy_from_slice(&lanes[..rows]);
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
    let mut codes = [&[][..]; M];
    let mut offsets = [target.splat_i32(0); M];
    for t in 0..M {
        codes[t] = &tokens[t].codes[b * 8..][..8];
        let sums = &tokens[t].sums[b * 8..][..8];
        if B::HAS_MIN || B::BIAS > 0 {
            eight(
                #[inline(always)]
                |g| {
                    // Sums of two sixteens by two numbers, or their sum by one: a sixteenth's share is that of its sub-block.
                    offsets[t] = target.dot_pairs(offsets[t], scales.offsets::<B>(target, g), sums[g]);
                },
            );
        }
    }
    let mut isum = if B::BIAS > 0 { offsets } else { [target.splat_i32(0); M] };
    let mut sums = [[target.nothing(); M]; 8];
    B::octet_codes(
        target,
        octet,
        #[inline(always)]
        |g, q, w| {
            for t in 0..M {
                let x = target.splat_bytes(codes[t][g].as_chunks().0[q]);
                let sum = if q.is_multiple_of(B::QUADS) { target.nothing() } else { sums[g][t] };
                sums[g][t] = products::<T, B>(target, sum, w, x);
                if q % B::QUADS == B::QUADS - 1 {
                    let scale = || scales.sub_block(target, (32 * g + 4 * q) / B::SUB_BLOCK);
                    isum[t] = widen::<T, B>(target, isum[t], sums[g][t], scale);
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
        if B::BIAS > 0 {
            isum[t] = target.splat_i32(-i32::from(B::BIAS) * (first + last));
        }
        if B::HAS_MIN {
            msum[t] = target.splat_i32(first + last);
        }
    }
    let mut sums = [target.nothing(); M];
    B::octet_codes(
        target,
        octet,
        #[inline(always)]
        |_, q, w| {
            for t in 0..M {
                let x = target.splat_bytes(codes[t].as_chunks().0[q]);
                let sum = if q.is_multiple_of(B::QUADS) { target.nothing() } else { sums[t] };
                sums[t] = products::<T, B>(target, sum, w, x);
                if q % B::QUADS == B::QUADS - 1 {
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
