//! Panels: weight rows that are decoded once and run against many tokens.

use core::ops::Range;

use keepq_act::Q8Rows;

use super::{Scales, Tokens, add_products, each_group, step};
use crate::{LANES, Quantized, Target};

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Tokens that run against a panel together: with [`ROWS`] rows, eight accumulators.
const TOKENS: usize = 4;

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
    /// The scale of the first sub-block, twice, and that of the last.
    scales: [[[i16; 2]; LANES]; 2],
    /// What the sums of sixteen activations are multiplied by.
    offsets: [[i16; 2]; LANES],
}

/// The floats of a block of eight rows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Head([[f32; LANES]; 2]);

/// The chains of a tile's tokens.
///
/// Aligned memory on the stack makes the compiler align what it spills there, too: else half of that crosses cache lines.
#[repr(align(64))]
struct Chains([[[f32; LANES]; 2]; TOKENS]);

impl Chains {
    const ZERO: Self = Self([[[0.0; LANES]; 2]; TOKENS]);

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

#[derive(Clone, Copy)]
struct Word(u32);
impl Word {
    #[inline(always)]
    fn pair(self) -> [i16;2] { [self.0 as u16 as i16, (self.0 >> 16) as u16 as i16] }
    #[inline(always)]
    fn float(self) -> f32 { f32::from_bits(self.0) }
    #[inline(always)]
    fn of_pair(x: [i16;2]) -> Self { Self(u32::from(x[0].cast_unsigned()) | u32::from(x[1].cast_unsigned()) << 16) }
    #[inline(always)]
    fn of_float(x: f32) -> Self { Self(x.to_bits()) }
}
impl Sums { const ZERO: Self = Self([[Word(0); LANES]; DEPTH / LANES]); }

impl Codes {
    pub(crate) const ZERO: Self = Self([[0; 32]; 8]);
}

impl Group {
    pub(crate) const ZERO: Self = Self { scales: [[[0; 2]; LANES]; 2], offsets: [[0; 2]; LANES] };
}

impl Head {
    pub(crate) const ZERO: Self = Self([[0.0; LANES]; 2]);
}

/// The memory of a panel: of each group or block the first eight rows, then the others.
pub(crate) struct Panel<'s> {
    pub codes: &'s mut [[Codes; 2]],
    /// Only types with sub-blocks use it.
    pub groups: &'s mut [[Group; 2]],
    pub heads: &'s mut [[Head; 2]],
}

/// `y[t * n + r]`: the dots of `n` weight rows (at most [`ROWS`]) and all tokens.
#[inline(always)]
pub(crate) fn panel<T: Target, B: Quantized>(
    target: T,
    blocks: &[B],
    row_blocks: usize,
    x: Q8Rows<'_>,
    y: &mut [f32],
    panel: &mut Panel<'_>,
) {
    let n = blocks.len() / row_blocks;
    let depth = DEPTH / B::GROUPS;
    y.fill(0.0);
    for first in (0..row_blocks).step_by(depth) {
        let range = first..row_blocks.min(first + depth);
        for half in 0..2 {
            fill(target, super::rows(blocks, row_blocks, half * LANES), range.clone(), half, panel);
        }
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let tokens = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + range.start..start + range.end, B::GROUPS)
            });
            tile::<T, B>(target, tokens, range.len(), panel, n, y);
        }
    }
}

/// Decodes some blocks of eight rows.
#[inline(always)]
fn fill<T: Target, B: Quantized>(
    target: T,
    rows: [&[B]; LANES],
    range: Range<usize>,
    half: usize,
    panel: &mut Panel<'_>,
) {
    for (i, b) in range.enumerate() {
        let rows = super::blocks(rows, b);
        let scales = Scales::new(target, rows);
        for (float, to) in scales.floats.iter().zip(&mut panel.heads[i][half].0) {
            target.store(*float, to);
        }
        let codes = &mut panel.codes[i * B::GROUPS..][..B::GROUPS];
        let groups = if B::SUB_BLOCKS { &mut panel.groups[i * B::GROUPS..][..B::GROUPS] } else { &mut [] };
        each_group::<B>(
            #[inline(always)]
            |g| {
                for (columns, to) in super::codes(target, rows, g).iter().zip(&mut codes[g][half].0) {
                    target.store_bytes(*columns, to);
                }
                if B::SUB_BLOCKS {
                    let group = &mut groups[g][half];
                    for j in 0..32 / B::SUB_BLOCK {
                        target.store_pairs(scales.sub_block(target, g * (32 / B::SUB_BLOCK) + j), &mut group.scales[j]);
                    }
                    let offsets = scales.offsets::<B>(target, g);
                    if B::SUB_BLOCK == 16 {
                        target.store_pairs(offsets, &mut group.offsets);
                    } else if B::HAS_MIN && g % 2 == 0 {
                        let next = scales.offsets::<B>(target, g + 1);
                        target.store_pairs(target.join_pairs(offsets, next), &mut group.offsets);
                    }
                }
            },
        );
    }
}

/// What sums of activations are multiplied by, or added to, in a panel: words that are read by all lanes at once.
///
/// Of a block of 32 the sum of its activations, or what takes the bias of its codes away again; of a super-block with sub-blocks
/// of 32 the sums of all eight, twice.
#[repr(align(64))]
struct Sums([[Word; LANES]; DEPTH / LANES]);

/// Carries the chains of up to [`TOKENS`] tokens on by the blocks of a panel, in `y`.
#[inline(always)]
fn tile<T: Target, B: Quantized>(
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
    let sums = token_sums::<T, B>(target, tokens, blocks);
    for b in 0..blocks {
        let codes = &panel.codes[b * B::GROUPS..][..B::GROUPS];
        let groups = if B::SUB_BLOCKS { &panel.groups[b * B::GROUPS..][..B::GROUPS] } else { &[] };
        let x = Tokens::new::<B>(tokens, b);
        let mut offsets = [[target.splat_i32(0); 2]; TOKENS];
        if B::SUB_BLOCKS && (B::HAS_MIN || B::BIAS > 0) {
            super::eight(
                #[inline(always)]
                |g| {
                    if B::SUB_BLOCK == 32 && g % 2 == 1 {
                        return;
                    }
                    let by = [target.load_pairs(&groups[g][0].offsets), target.load_pairs(&groups[g][1].offsets)];
                    for t in 0..TOKENS {
                        let x = if B::SUB_BLOCK == 32 { sums[t].0[b][g / 2].pair() } else { x.sums[t][g] };
                        for half in 0..2 {
                            offsets[t][half] = target.dot_pairs(offsets[t][half], by[half], x);
                        }
                    }
                },
            );
        }
        let mut isum = if B::BIAS > 0 { offsets } else { [[target.splat_i32(0); 2]; TOKENS] };
        for g in 0..B::GROUPS {
            let x = x.codes.map(|codes| &codes[g]);
            let codes = |q: usize, half: usize| target.load_bytes(&codes[g][half].0[q]);
            let scale = |j: usize, half: usize| target.load_pairs(&groups[g][half].scales[j]);
            add_products::<T, B, 2, TOKENS>(target, x, codes, scale, &mut isum);
        }
        for half in 0..2 {
            let floats = [target.load(&panel.heads[b][half].0[0]), target.load(&panel.heads[b][half].0[1])];
            for t in 0..TOKENS {
                let x_scale = tokens[t].scales[b];
                let mut isum = target.to_f32(isum[t][half]);
                let mut msum = target.to_f32(offsets[t][half]);
                if !B::SUB_BLOCKS && (B::HAS_MIN || B::BIAS > 0) {
                    msum = target.splat(sums[t].0.as_flattened()[b].float());
                    if B::BIAS > 0 {
                        isum = target.add(isum, msum);
                    }
                }
                acc[t][half] = step::<T, B>(target, acc[t][half], floats, x_scale, isum, msum);
            }
        }
    }
    for t in 0..TOKENS {
        target.store(acc[t][0], &mut chains.0[t][0]);
        target.store(acc[t][1], &mut chains.0[t][1]);
    }
    chains.write(y, n);
}

/// The words that go with some blocks of the tokens.
#[inline(always)]
fn token_sums<T: Target, B: Quantized>(target: T, tokens: [Q8Rows<'_>; TOKENS], blocks: usize) -> [Sums; TOKENS] {
    let mut words = [const { Sums::ZERO }; TOKENS];
    let counts = if B::SUB_BLOCKS { B::HAS_MIN && B::SUB_BLOCK == 32 } else { B::HAS_MIN || B::BIAS > 0 };
    if !counts {
        return words;
    }
    for t in 0..TOKENS {
        let (eights, rest) = tokens[t].sums.as_chunks::<8>();
        for (sums, words) in eights.iter().zip(&mut words[t].0) {
            let sums = target.load_pairs(sums);
            if B::SUB_BLOCKS {
                let mut pairs = [[0; 2]; LANES];
                target.store_pairs(target.sums_of_pairs(sums, sums), &mut pairs);
                for i in 0..LANES { words[i] = Word::of_pair(pairs[i]); }
            } else {
                let factor = if B::HAS_MIN { 1 } else { -i16::from(B::BIAS) };
                let mut floats = [0.0; LANES];
                target.store(target.to_f32(target.dot_pairs(target.splat_i32(0), sums, [factor; 2])), &mut floats);
                for i in 0..LANES { words[i] = Word::of_float(floats[i]); }
            }
        }
        if !B::SUB_BLOCKS {
            for (i, sums) in rest.iter().enumerate() {
                let factor = if B::HAS_MIN { 1 } else { -i32::from(B::BIAS) };
                words[t].0[eights.len()][i] = Word::of_float((factor * (i32::from(sums[0]) + i32::from(sums[1]))) as f32);
            }
        }
    }
    words
}
