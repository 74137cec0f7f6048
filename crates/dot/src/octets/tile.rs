//! Tiles: a few tokens by a panel.

use keepq_act::Q8Rows;

use super::panel::{DEPTH, Group, Panel, ROWS};
use super::{panel_bias, products, quads, step, widen};
use crate::columns::{eight, four};
use crate::{LANES, Quantized, Target};

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
pub(super) const TOKENS: usize = 4;

/// Carries the chains of up to [`TOKENS`] tokens on by the blocks of a panel, in `y`.
#[inline(always)]
pub(super) fn tile<T: Target, B: Quantized>(
    target: T,
    tokens: [Q8Rows<'_>; TOKENS],
    blocks: usize,
    panel: &Panel<'_>,
    n: usize,
    y: &mut [f32],
) {
    let mut chains = Chains::ZERO;
    chains.read(y, n);
    let mut acc = [[target.splat(0.0); 2]; TOKENS];
    for t in 0..TOKENS {
        acc[t] = [target.load(&chains.0[t][0]), target.load(&chains.0[t][1])];
    }
    if B::SUB_BLOCKS {
        super_blocks::<T, B>(target, tokens, blocks, panel, &mut acc);
    } else {
        small_blocks::<T, B>(target, tokens, blocks, panel, &mut acc);
    }
    for t in 0..TOKENS {
        target.store(acc[t][0], &mut chains.0[t][0]);
        target.store(acc[t][1], &mut chains.0[t][1]);
    }
    chains.write(y, n);
}

/// The chains of a tile: for each token those of the first eight rows, then of the others.
///
/// It stays in memory, and aligned memory on the stack makes the compiler align what it spills there: else half of that
/// crosses cache lines.
#[repr(align(64))]
struct Chains([[[f32; LANES]; 2]; TOKENS]);

impl Chains {
    const ZERO: Self = Self([[[0.0; LANES]; 2]; TOKENS]);

    /// From `y[t * n + r]`.
    #[inline(always)]
    fn read(&mut self, y: &[f32], n: usize) {
        let chains = self.0.as_flattened_mut().as_flattened_mut();
        if y.len() == chains.len() {
            chains.copy_from_slice(y);
        } else {
            for (chains, y) in chains.chunks_exact_mut(ROWS).zip(y.chunks_exact(n)) {
                chains[..n].copy_from_slice(y);
            }
        }
    }

    /// To `y[t * n + r]`.
    #[inline(always)]
    fn write(&self, y: &mut [f32], n: usize) {
        let chains = self.0.as_flattened().as_flattened();
        if y.len() == chains.len() {
            y.copy_from_slice(chains);
        } else {
            for (chains, y) in chains.chunks_exact(ROWS).zip(y.chunks_exact_mut(n)) {
                y.copy_from_slice(&chains[..n]);
            }
        }
    }
}

/// [`tile`] over super-blocks.
#[inline(always)]
fn super_blocks<T: Target, B: Quantized>(
    target: T,
    tokens: [Q8Rows<'_>; TOKENS],
    blocks: usize,
    panel: &Panel<'_>,
    acc: &mut [[T::F32s; 2]; TOKENS],
) {
    let sums = if B::SUB_BLOCK == 32 { sums_of_32(target, tokens) } else { [[[[0; 2]; LANES]; DEPTH / 8]; TOKENS] };
    for b in 0..blocks {
        let (codes, groups) = (&panel.codes[b * 8..][..8], &panel.groups[b * 8..][..8]);
        let x = Tokens::new::<B>(tokens, b);
        let mut offsets = [[target.splat_i32(0); 2]; TOKENS];
        if B::HAS_MIN || panel_bias::<T, B>() > 0 {
            eight(
                #[inline(always)]
                |g| {
                    if B::SUB_BLOCK == 16 {
                        add_offsets(target, &groups[g], x.sums.map(|sums| sums[g]), &mut offsets);
                    } else if g.is_multiple_of(2) {
                        let sums = [sums[0][b][g / 2], sums[1][b][g / 2], sums[2][b][g / 2], sums[3][b][g / 2]];
                        add_offsets(target, &groups[g], sums, &mut offsets);
                    }
                },
            );
        }
        let mut isum = if panel_bias::<T, B>() > 0 { offsets } else { [[target.splat_i32(0); 2]; TOKENS] };
        for g in 0..8 {
            let x = x.codes.map(|codes| &codes[g]);
            let codes = |q: usize, half: usize| target.load_bytes(&codes[g][half].0[q]);
            let scale = |j: usize, half: usize| target.load_pairs(&groups[g][half].scales[j]);
            add_products::<T, B>(target, x, codes, scale, &mut isum);
        }
        for half in 0..2 {
            let floats = panel.heads[b][half].0.each_ref().map(|floats| target.load(floats));
            for t in 0..TOKENS {
                let x_scale = tokens[t].scales[b];
                acc[t][half] = step::<T, B>(target, acc[t][half], floats, x_scale, isum[t][half], offsets[t][half]);
            }
        }
    }
}

/// Adds what the sums of some of a super-block's activations are multiplied by.
#[inline(always)]
fn add_offsets<T: Target>(
    target: T,
    groups: &[Group; 2],
    sums: [[i16; 2]; TOKENS],
    offsets: &mut [[T::I32s; 2]; TOKENS],
) {
    let by = [target.load_pairs(&groups[0].offsets), target.load_pairs(&groups[1].offsets)];
    for t in 0..TOKENS {
        for half in 0..2 {
            offsets[t][half] = target.settled_i32(target.dot_pairs(offsets[t][half], by[half], sums[t]));
        }
    }
}

/// Of each token and super-block the sums of its eight groups, twice.
#[inline(always)]
fn sums_of_32<T: Target>(target: T, tokens: [Q8Rows<'_>; TOKENS]) -> [[[[i16; 2]; LANES]; DEPTH / 8]; TOKENS] {
    let mut sums_of_32 = [[[[0; 2]; LANES]; DEPTH / 8]; TOKENS];
    for t in 0..TOKENS {
        for (sums, to) in tokens[t].sums.as_chunks().0.iter().zip(&mut sums_of_32[t]) {
            let sums = target.load_pairs(sums);
            target.store_pairs(target.sums_of_pairs(sums, sums), to);
        }
    }
    sums_of_32
}

/// [`tile`] over blocks of 32.
#[inline(always)]
fn small_blocks<T: Target, B: Quantized>(
    target: T,
    tokens: [Q8Rows<'_>; TOKENS],
    blocks: usize,
    panel: &Panel<'_>,
    acc: &mut [[T::F32s; 2]; TOKENS],
) {
    let sums = if B::HAS_MIN || panel_bias::<T, B>() > 0 {
        float_sums::<T, B>(target, tokens)
    } else {
        [[0.0; DEPTH]; TOKENS]
    };
    for b in 0..blocks {
        let x = [&tokens[0].codes[b], &tokens[1].codes[b], &tokens[2].codes[b], &tokens[3].codes[b]];
        let mut isum = [[target.splat_i32(0); 2]; TOKENS];
        let codes = |q: usize, half: usize| target.load_bytes(&panel.codes[b][half].0[q]);
        add_products::<T, B>(target, x, codes, |_, _| unreachable!("blocks of 32 have no sub-blocks"), &mut isum);
        for half in 0..2 {
            let [d, m] = panel.heads[b][half].0.each_ref().map(|floats| target.load(floats));
            for t in 0..TOKENS {
                let (x_scale, sum) = (target.splat(tokens[t].scales[b]), target.splat(sums[t][b]));
                let mut isum = target.to_f32(isum[t][half]);
                if panel_bias::<T, B>() > 0 {
                    isum = target.add(isum, sum); // exact: both are whole numbers below 2^24
                }
                acc[t][half] = target.add(acc[t][half], target.mul(target.mul(d, x_scale), isum));
                if B::HAS_MIN {
                    acc[t][half] = target.add(acc[t][half], target.mul(target.mul(m, x_scale), sum));
                }
            }
        }
    }
}

/// Of each token and block the sum of its activations, or what takes the bias of the codes away again.
#[inline(always)]
fn float_sums<T: Target, B: Quantized>(target: T, tokens: [Q8Rows<'_>; TOKENS]) -> [[f32; DEPTH]; TOKENS] {
    let factor = if B::HAS_MIN { 1 } else { -i16::from(panel_bias::<T, B>()) };
    let mut floats = [[0.0; DEPTH]; TOKENS];
    for t in 0..TOKENS {
        let (eights, rest) = tokens[t].sums.as_chunks();
        let mut last = [[0; 2]; LANES];
        last[..rest.len()].copy_from_slice(rest);
        for (sums, to) in eights.iter().chain([&last]).zip(floats[t].as_chunks_mut().0) {
            let sums = target.dot_pairs(target.splat_i32(0), target.load_pairs(sums), [factor; 2]);
            target.store(target.to_f32(sums), to);
        }
    }
    floats
}

/// The codes and sums of block `b` of each token.
#[derive(Clone, Copy)]
struct Tokens<'x> {
    codes: [&'x [[i8; 32]]; TOKENS],
    sums: [&'x [[i16; 2]]; TOKENS],
}

impl<'x> Tokens<'x> {
    #[inline(always)]
    fn new<B: Quantized>(x: [Q8Rows<'x>; TOKENS], b: usize) -> Self {
        let mut tokens = Self { codes: [&[]; TOKENS], sums: [&[]; TOKENS] };
        for t in 0..TOKENS {
            tokens.codes[t] = &x[t].codes[b * B::GROUPS..][..B::GROUPS];
            tokens.sums[t] = &x[t].sums[b * B::GROUPS..][..B::GROUPS];
        }
        tokens
    }
}

/// Adds the products of a group of 32 elements to `isum`, for each eight of rows and each token.
///
/// `codes(q, half)` are those of elements `4 q` to `4 q + 3`, `scale(j, half)` is that of the group's sub-block `j`.
#[inline(always)]
fn add_products<T: Target, B: Quantized>(
    target: T,
    x: [&[i8; 32]; TOKENS],
    codes: impl Fn(usize, usize) -> T::Bytes,
    scale: impl Fn(usize, usize) -> T::Pairs,
    isum: &mut [[T::I32s; 2]; TOKENS],
) {
    if T::TWO_TOKENS {
        add_products_of_two::<T, B>(target, x, codes, scale, isum);
        return;
    }
    if quads::<T, B>() <= 2 {
        add_few_products::<T, B>(target, x, codes, scale, isum);
        return;
    }
    let mut sum = [[target.nothing(); 2]; TOKENS];
    eight(
        #[inline(always)]
        |q| {
            if q.is_multiple_of(quads::<T, B>()) {
                sum = [[target.nothing(); 2]; TOKENS];
            }
            let w = [codes(q, 0), codes(q, 1)];
            for t in 0..TOKENS {
                if T::BY_QUAD {
                    for half in 0..2 {
                        sum[t][half] = target.settled(target.add_quad(sum[t][half], w[half], x[t], q));
                    }
                    continue;
                }
                let x = target.splat_bytes(x[t].as_chunks().0[q]);
                for half in 0..2 {
                    sum[t][half] = products::<T, B>(target, sum[t][half], w[half], x);
                }
            }
            if q % quads::<T, B>() == quads::<T, B>() - 1 {
                for t in 0..TOKENS {
                    for half in 0..2 {
                        let scale = || scale(4 * q / B::SUB_BLOCK, half);
                        isum[t][half] = widen::<T, B>(target, isum[t][half], sum[t][half], scale);
                    }
                }
            }
        },
    );
}

/// [`add_products`] where no more than two quads are added up in 16 bits: their codes stay in registers, and each token's sum
/// is widened at once.
#[inline(always)]
fn add_few_products<T: Target, B: Quantized>(
    target: T,
    x: [&[i8; 32]; TOKENS],
    codes: impl Fn(usize, usize) -> T::Bytes,
    scale: impl Fn(usize, usize) -> T::Pairs,
    isum: &mut [[T::I32s; 2]; TOKENS],
) {
    eight(
        #[inline(always)]
        |first| {
            if !first.is_multiple_of(quads::<T, B>()) {
                return;
            }
            let mut w = [[codes(first, 0); 2]; 2];
            for i in 0..quads::<T, B>() {
                for half in 0..2 {
                    w[i][half] = codes(first + i, half);
                }
            }
            for t in 0..TOKENS {
                let mut sum = [target.nothing(); 2];
                for i in 0..quads::<T, B>() {
                    let x = target.splat_bytes(x[t].as_chunks().0[first + i]);
                    for half in 0..2 {
                        sum[half] = products::<T, B>(target, sum[half], w[i][half], x);
                    }
                }
                for half in 0..2 {
                    let scale = || scale(4 * first / B::SUB_BLOCK, half);
                    isum[t][half] = widen::<T, B>(target, isum[t][half], sum[half], scale);
                }
            }
        },
    );
}

/// [`add_products`] where products are made of two tokens at once.
#[inline(always)]
fn add_products_of_two<T: Target, B: Quantized>(
    target: T,
    x: [&[i8; 32]; TOKENS],
    codes: impl Fn(usize, usize) -> T::Bytes,
    scale: impl Fn(usize, usize) -> T::Pairs,
    isum: &mut [[T::I32s; 2]; TOKENS],
) {
    for first in (0..TOKENS).step_by(2) {
        let mut sums = [[target.nothing(); 2]; 2];
        four(
            #[inline(always)]
            |i| {
                let q = 2 * i;
                if q.is_multiple_of(quads::<T, B>()) {
                    sums = [[target.nothing(); 2]; 2];
                }
                let x = [x[first].as_chunks().0[i], x[first + 1].as_chunks().0[i]];
                for half in 0..2 {
                    sums[half] = target.add_products_of_two(sums[half], [codes(q, half), codes(q + 1, half)], x);
                }
                if (q + 2).is_multiple_of(quads::<T, B>()) {
                    for half in 0..2 {
                        let parted = target.part_tokens(sums[half]);
                        for t in 0..2 {
                            let scale = || scale(4 * q / B::SUB_BLOCK, half);
                            isum[first + t][half] = widen::<T, B>(target, isum[first + t][half], parted[t], scale);
                        }
                    }
                }
            },
        );
    }
}
