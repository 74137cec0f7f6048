//! Few tokens: rows are walked one after the other where they lie, then eight rows are carried on together.
//!
//! Memory is read fastest as one stream, so a row is walked from its first byte to its last, and its codes stay in registers.
//! What each block adds to the row's chain is computed for eight blocks at once, a lane a block, and put aside: only the sums
//! depend on each other. After eight rows a lane is a row, and their chains run side by side.

use keepq_act::Q8Rows;
use keepq_blocks::F16;

use crate::columns::eight;
use crate::{LANES, Quantized, Target};

/// The most tokens for which this is faster than a panel.
pub(crate) const MOST_TOKENS: usize = 2;

/// Blocks whose steps are computed together.
const EIGHT: usize = 8;

/// What [`EIGHT`] blocks of each of eight rows add to its chain: the steps of scales, and those of minima.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Steps([[[f32; EIGHT]; LANES]; 2]);

impl Steps {
    pub(crate) const ZERO: Self = Self([[[0.0; EIGHT]; LANES]; 2]);
}

/// `y[t * n + r]`: the dots of all rows and `M` tokens.
#[inline(always)]
pub(crate) fn narrow<T: Target, B: Quantized, const M: usize>(
    target: T,
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
    steps: &mut [Steps],
) {
    let n = blocks.len() / row_blocks;
    let chunks = row_blocks.div_ceil(EIGHT);
    let mut tokens = [x; M];
    for t in 0..M {
        tokens[t] = x.blocks(t * row_blocks..(t + 1) * row_blocks, B::GROUPS);
    }
    for (first, rows) in (0..n).step_by(LANES).zip(blocks.chunks(LANES * row_blocks)) {
        for (r, row) in rows.chunks_exact(row_blocks).enumerate() {
            if B::SUB_BLOCKS {
                walk_super_blocks(target, row, r, tokens, steps);
            } else {
                for t in 0..M {
                    walk_blocks(target, row, r, tokens[t], &mut steps[t * chunks..]);
                }
            }
        }
        for t in 0..M {
            let acc = carry::<T, B>(target, row_blocks, &steps[t * chunks..]);
            let mut lanes = [0.0; LANES];
            target.store(acc, &mut lanes);
            let rows = LANES.min(n - first);
            y[t * n + first..][..rows].copy_from_slice(&lanes[..rows]);
        }
    }
}

/// Parks the steps of row `r`, whose blocks have sub-blocks.
#[inline(always)]
fn walk_super_blocks<T: Target, B: Quantized, const M: usize>(
    target: T,
    row: &[B],
    r: usize,
    tokens: [Q8Rows<'_>; M],
    steps: &mut [Steps],
) {
    let chunks = row.len().div_ceil(EIGHT);
    let mut codes = [&[][..]; M];
    let mut sums = [&[][..]; M];
    for t in 0..M {
        codes[t] = &tokens[t].codes.as_chunks::<EIGHT>().0[..row.len()];
        sums[t] = &tokens[t].sums.as_chunks::<EIGHT>().0[..row.len()];
    }
    let spreads = target.spreads();
    for (i, blocks) in row.chunks(EIGHT).enumerate() {
        let mut isums = [[target.splat_i32(0); EIGHT]; M];
        let mut msums = [[target.splat_i32(0); EIGHT]; M];
        let mut halves = [[F16::from_bits(0); EIGHT]; 2];
        for (j, block) in blocks.iter().enumerate() {
            let b = i * EIGHT + j;
            let [scales, mins] = block.pairs(target);
            let mut isum = [target.splat_i32(0); M];
            eight(
                #[inline(always)]
                |g| {
                    let w = block.bytes(target, g);
                    let scale = target.spread(spreads, scales, g);
                    for t in 0..M {
                        let sum = target.add_products(target.nothing(), w, target.load_codes(&codes[t][b][g]));
                        isum[t] = target.widen_scaled(isum[t], sum, scale);
                    }
                },
            );
            for t in 0..M {
                let sums = target.load_pairs(&sums[t][b]);
                isums[t][j] = if B::BIAS > 0 {
                    target.dot_lanes(isum[t], target.mul_pairs(scales, -i16::from(B::BIAS)), sums)
                } else {
                    isum[t]
                };
                if B::HAS_MIN {
                    msums[t][j] = target.dot_lanes(target.splat_i32(0), mins, sums);
                }
            }
            halves[0][j] = block.d();
            if B::HAS_MIN {
                halves[1][j] = block.m();
            }
        }
        for t in 0..M {
            let mut x_scales = [0.0; EIGHT];
            x_scales[..blocks.len()].copy_from_slice(&tokens[t].scales[i * EIGHT..][..blocks.len()]);
            let msums = if B::HAS_MIN { target.sum_lanes(msums[t]) } else { isums[t][0] };
            let isums = target.sum_lanes(isums[t]);
            let halves = [target.widen_f16(halves[0]), target.widen_f16(halves[1])];
            park::<T, B>(target, halves, &x_scales, [isums, msums], r, &mut steps[t * chunks + i]);
        }
    }
}

/// Parks the steps of row `r`, whose blocks have one scale.
#[inline(always)]
fn walk_blocks<T: Target, B: Quantized>(target: T, row: &[B], r: usize, token: Q8Rows<'_>, steps: &mut [Steps]) {
    let ((eights, rest), (codes, codes_rest)) = (row.as_chunks(), token.codes.as_chunks());
    let ((sums, sums_rest), (scales, scales_rest)) = (token.sums.as_chunks(), token.scales.as_chunks());
    let mut steps = steps.iter_mut();
    for ((((blocks, codes), sums), scales), steps) in eights.iter().zip(codes).zip(sums).zip(scales).zip(&mut steps) {
        eight_blocks(target, blocks, codes, sums, scales, r, steps);
    }
    if let (Some(last), Some(steps)) = (rest.last(), steps.next()) {
        let mut blocks = [*last; EIGHT];
        let (mut codes, mut sums, mut scales) = ([[0; 32]; EIGHT], [[0; 2]; EIGHT], [0.0; EIGHT]);
        blocks[..rest.len()].copy_from_slice(rest);
        codes[..rest.len()].copy_from_slice(codes_rest);
        sums[..rest.len()].copy_from_slice(sums_rest);
        scales[..rest.len()].copy_from_slice(scales_rest);
        eight_blocks(target, &blocks, &codes, &sums, &scales, r, steps);
    }
}

/// Parks the steps of eight blocks of row `r`.
#[inline(always)]
fn eight_blocks<T: Target, B: Quantized>(
    target: T,
    blocks: &[B; EIGHT],
    codes: &[[i8; 32]; EIGHT],
    sums: &[[i16; 2]; EIGHT],
    x_scales: &[f32; EIGHT],
    r: usize,
    steps: &mut Steps,
) {
    let mut partial = [target.nothing(); EIGHT];
    let (mut d, mut both) = ([F16::from_bits(0); EIGHT], [[F16::from_bits(0); 2]; EIGHT]);
    for j in 0..EIGHT {
        let (w, x) = (blocks[j].bytes(target, 0), target.load_codes(&codes[j]));
        partial[j] = if B::SIGNED { target.signed_products(w, x) } else { target.add_products(partial[j], w, x) };
        (d[j], both[j]) = (blocks[j].d(), [blocks[j].d(), blocks[j].m()]);
    }
    let mut isums = if B::SIGNED { target.sum_signed(partial) } else { target.sum_partials(partial) };
    let sums = target.load_pairs(sums);
    if B::BIAS > 0 {
        isums = target.dot_pairs(isums, sums, [-i16::from(B::BIAS); 2]);
    }
    let msums = target.dot_pairs(target.splat_i32(0), sums, [1; 2]);
    let halves = if B::HAS_MIN { target.gather_f16_pairs(both) } else { [target.gather_f16(d); 2] };
    park::<T, B>(target, halves, x_scales, [isums, msums], r, steps);
}

/// Parks the steps of row `r` from the integer sums of eight blocks: a lane is a block.
#[inline(always)]
fn park<T: Target, B: Quantized>(
    target: T,
    [d, m]: [T::F32s; 2],
    x_scales: &[f32; EIGHT],
    [isums, msums]: [T::I32s; 2],
    r: usize,
    Steps([scales, minima]): &mut Steps,
) {
    let x_scales = target.load(x_scales);
    let p = target.mul(d, x_scales);
    target.store(target.mul(p, target.to_f32(isums)), &mut scales[r]);
    if B::HAS_MIN {
        let p = target.mul(m, x_scales);
        target.store(target.mul(p, target.to_f32(msums)), &mut minima[r]);
    }
}

/// The chains of eight rows over their steps.
#[inline(always)]
fn carry<T: Target, B: Quantized>(target: T, row_blocks: usize, steps: &[Steps]) -> T::F32s {
    let mut acc = target.splat(0.0);
    for (first, Steps([scales, minima])) in (0..row_blocks).step_by(EIGHT).zip(steps) {
        let scales = target.transpose(load(target, scales));
        let minima = if B::HAS_MIN { target.transpose(load(target, minima)) } else { scales };
        for j in 0..EIGHT {
            if first + j < row_blocks {
                acc = target.add(acc, scales[j]);
                if B::HAS_MIN {
                    acc = target.add(acc, minima[j]);
                }
            }
        }
    }
    acc
}

#[inline(always)]
fn load<T: Target>(target: T, rows: &[[f32; EIGHT]; LANES]) -> [T::F32s; LANES] {
    let mut loaded = [target.splat(0.0); LANES];
    for r in 0..LANES {
        loaded[r] = target.load(&rows[r]);
    }
    loaded
}
