//! One token by Q6_K weights: rows are walked one after the other where they lie, then eight rows are carried on together.
//!
//! Eight rows side by side ([`direct`](super::direct)) take more instructions for this type, and more streams than memory is read
//! by at its full rate: 0.75 of this. A row is walked from its first byte to its last instead, and its codes stay in registers.
//! What each block adds to the row's chain is computed for eight blocks at once, a lane a block, and put aside: only the sums
//! depend on each other. After eight rows a lane is a row, and their chains run side by side.

use keepq_act::Q8Rows;
use keepq_blocks::{BlockQ6_K, F16};

use crate::columns::eight;
use crate::{LANES, Quantized, Target};

/// Blocks whose steps are computed together.
const EIGHT: usize = 8;

/// What [`EIGHT`] blocks of each of eight rows add to its chain.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Steps([[f32; EIGHT]; LANES]);

impl Steps {
    pub(crate) const ZERO: Self = Self([[0.0; EIGHT]; LANES]);

    /// As many as eight rows of so many blocks need.
    pub(crate) const fn needed(row_blocks: usize) -> usize {
        row_blocks.div_ceil(EIGHT)
    }
}

/// `y[r]`: the dots of all rows and a token.
#[inline(always)]
pub(crate) fn walk<T: Target>(
    target: T,
    blocks: &[BlockQ6_K],
    row_blocks: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
    steps: &mut [Steps],
) {
    for (rows, y) in blocks.chunks(LANES * row_blocks).zip(y.chunks_mut(LANES)) {
        for (r, row) in rows.chunks_exact(row_blocks).enumerate() {
            walk_row(target, row, r, x, steps);
        }
        let mut lanes = [0.0; LANES];
        target.store(carry(target, row_blocks, steps), &mut lanes);
        y.copy_from_slice(&lanes[..y.len()]);
    }
}

/// Puts the steps of row `r` aside.
#[inline(always)]
fn walk_row<T: Target>(target: T, row: &[BlockQ6_K], r: usize, x: Q8Rows<'_>, steps: &mut [Steps]) {
    let codes = &x.codes.as_chunks::<8>().0[..row.len()];
    let sums = &x.sums.as_chunks::<8>().0[..row.len()];
    let spreads = target.spreads();
    for (i, (blocks, Steps(steps))) in row.chunks(EIGHT).zip(steps).enumerate() {
        let mut isums = [target.splat_i32(0); EIGHT];
        let mut d = [F16::from_bits(0); EIGHT];
        for (j, block) in blocks.iter().enumerate() {
            let b = i * EIGHT + j;
            let scales = target.widen_pairs(block.scales());
            let mut isum = target.splat_i32(0);
            eight(
                #[inline(always)]
                |g| {
                    let x = target.load_codes(&codes[b][g]);
                    let sum = target.add_products(target.nothing(), group(target, block, g), x);
                    isum = target.widen_scaled(isum, sum, target.spread(spreads, scales, g));
                },
            );
            let bias = target.mul_pairs(scales, -i16::from(BlockQ6_K::BIAS));
            isums[j] = target.dot_lanes(isum, bias, target.load_pairs(&sums[b]));
            d[j] = block.d;
        }
        let mut x_scales = [0.0; EIGHT];
        x_scales[..blocks.len()].copy_from_slice(&x.scales[i * EIGHT..][..blocks.len()]);
        let p = target.mul(target.widen_f16(d), target.load(&x_scales));
        target.store(target.mul(p, target.to_f32(target.sum_lanes(isums))), &mut steps[r]);
    }
}

/// The codes of a group of 32 elements with their bias.
#[inline(always)]
fn group<T: Target>(target: T, block: &BlockQ6_K, group: usize) -> T::Bytes {
    let low = target.load_bytes(&block.ql.as_chunks().0[group / 4 * 2 + group % 2]);
    let low = target.field(low, 4 * (group % 4 / 2) as u32, 15);
    let high = target.load_bytes(&block.qh.as_chunks().0[group / 4]);
    target.join(low, target.field(high, 2 * (group % 4) as u32, 3), 4)
}

/// The chains of eight rows over their steps.
#[inline(always)]
fn carry<T: Target>(target: T, row_blocks: usize, steps: &[Steps]) -> T::F32s {
    let mut acc = target.splat(0.0);
    for (first, Steps(rows)) in (0..row_blocks).step_by(EIGHT).zip(steps) {
        let mut loaded = [target.splat(0.0); LANES];
        for r in 0..LANES {
            loaded[r] = target.load(&rows[r]);
        }
        let columns = target.transpose(loaded);
        for j in 0..EIGHT {
            if first + j < row_blocks {
                acc = target.add(acc, columns[j]);
            }
        }
    }
    acc
}
