//! Panels: weight rows that are decoded once and run against many tokens.

use keepq_act::Q8Rows;

use super::Scales;
use super::tile::{TOKENS, tile};
use crate::columns::{eight, headers};
use crate::{LANES, Quantized, Target};

/// Rows side by side in a panel: two registers of a target.
pub(crate) const ROWS: usize = 2 * LANES;

/// Groups of 32 elements that a panel holds: 32 groups of 16 rows are 22 KiB, which L1 holds beside what it is run against.
pub(crate) const DEPTH: usize = 32;

/// Codes of 32 elements of eight rows: four neighbours of each row in turn, then the next four.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Codes(pub(super) [[u8; 32]; 8]);

/// What the codes of 32 elements of eight rows are multiplied by, and what is added to them.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Group {
    /// The scale of the first sub-block, twice, and that of the last.
    pub(super) scales: [[[i16; 2]; LANES]; 2],
    /// What the sums of activations are multiplied by: those of the group's two sixteens, or in sub-blocks of 32 those of this
    /// group and of the next, in every other group.
    pub(super) offsets: [[i16; 2]; LANES],
}

/// The floats of a block of eight rows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Head(pub(super) [[f32; LANES]; 2]);

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
        let end = row_blocks.min(first + depth);
        // After the first eight rows the others are decoded, then what follows in the first, or the rows after these.
        let others = first + LANES * row_blocks;
        let next = if end < row_blocks { end } else { blocks.len() };
        for (half, next) in [others, next].into_iter().enumerate() {
            let rows = super::rows(blocks, row_blocks, half * LANES);
            let ahead = Ahead { at: blocks.as_ptr().wrapping_add(next), row_blocks };
            fill(target, rows.map(|row| &row[first..end]), ahead, half, panel);
        }
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let tokens = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + first..start + end, B::GROUPS)
            });
            tile::<T, B>(target, tokens, end - first, panel, n, y);
        }
    }
}

/// Where eight rows begin that will be decoded next; there need not be any.
#[derive(Clone, Copy)]
struct Ahead<B> {
    at: *const B,
    row_blocks: usize,
}

impl<B: Quantized> Ahead<B> {
    /// Asks for block `i` of each row. Of small blocks the cache lines have several.
    #[inline(always)]
    fn fetch<T: Target>(self, target: T, i: usize) {
        if !i.is_multiple_of((64 / size_of::<B>()).max(1)) {
            return;
        }
        for r in 0..LANES {
            let block = self.at.wrapping_add(r * self.row_blocks + i).cast::<u8>();
            for byte in (0..size_of::<B>()).step_by(64) {
                target.prefetch(block.wrapping_add(byte));
            }
        }
    }
}

/// Decodes some blocks of eight rows.
#[inline(always)]
fn fill<T: Target, B: Quantized>(
    target: T,
    [r, s, t, u, v, w, x, y]: [&[B]; LANES],
    ahead: Ahead<B>,
    half: usize,
    panel: &mut Panel<'_>,
) {
    let rows = r.iter().zip(s).zip(t).zip(u).zip(v).zip(w).zip(x).zip(y);
    for (i, (((((((r, s), t), u), v), w), x), y)) in rows.enumerate() {
        ahead.fetch(target, i);
        let rows = [r, s, t, u, v, w, x, y];
        let codes = &mut panel.codes[i * B::GROUPS..][..B::GROUPS];
        B::octet_codes(
            target,
            rows,
            #[inline(always)]
            |g, q, bytes| target.store_bytes(bytes, &mut codes[g][half].0[q]),
        );
        let floats = if B::SUB_BLOCKS {
            let groups = &mut panel.groups[i * B::GROUPS..][..B::GROUPS];
            let scales = Scales::new(target, rows);
            eight(
                #[inline(always)]
                |g| put_group::<T, B>(target, &scales, g, &mut groups[g][half]),
            );
            scales.floats
        } else {
            // Blocks of 32 begin with their floats.
            target.widen_halves(headers(target, rows)[0])
        };
        target.store(floats[0], &mut panel.heads[i][half].0[0]);
        if B::HAS_MIN {
            target.store(floats[1], &mut panel.heads[i][half].0[1]);
        }
    }
}

/// The integer scales of a group of eight rows, and what goes with the sums of activations.
#[inline(always)]
fn put_group<T: Target, B: Quantized>(target: T, scales: &Scales<T>, g: usize, to: &mut Group) {
    for j in 0..32 / B::SUB_BLOCK {
        target.store_pairs(scales.sub_block(target, g * (32 / B::SUB_BLOCK) + j), &mut to.scales[j]);
    }
    let offsets = scales.offsets::<B>(target, g);
    if B::SUB_BLOCK == 16 {
        target.store_pairs(offsets, &mut to.offsets);
    } else if g.is_multiple_of(2) {
        target.store_pairs(target.join_pairs(offsets, scales.offsets::<B>(target, g + 1)), &mut to.offsets);
    }
}
