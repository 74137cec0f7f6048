//! Panels: weight rows that are decoded once and run against many tokens.

use keepq_act::Q8Rows;

use super::octet::Octet;
use super::rows::Rows;
use super::scales::Scales;
use super::tile::{TOKENS, tile};
use super::{bias, octet_codes, panel_bias};
use crate::columns::eight;
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

/// `y[t * n + r]`: the dots of the weight rows (at most [`ROWS`]) and all tokens.
#[inline(always)]
pub(crate) fn panel<T: Target, B: Quantized>(
    target: T,
    rows: impl Rows<B>,
    x: Q8Rows<'_>,
    y: &mut [f32],
    panel: &mut Panel<'_>,
) {
    let (n, row_blocks) = (rows.n(), rows.row_blocks());
    let depth = DEPTH / B::GROUPS;
    y.fill(0.0);
    for first in (0..row_blocks).step_by(depth) {
        let blocks = first..row_blocks.min(first + depth);
        for half in 0..2 {
            fill(target, rows.octets(target, half * LANES, blocks.clone()), half, panel);
        }
        for (t, y) in (0..).step_by(TOKENS).zip(y.chunks_mut(TOKENS * n)) {
            // Past the last token the last one stands in; its results are not read.
            let last = t + y.len() / n - 1;
            let tokens = core::array::from_fn(|i| {
                let start = (t + i).min(last) * row_blocks;
                x.blocks(start + blocks.start..start + blocks.end, B::GROUPS)
            });
            tile::<T, B>(target, tokens, blocks.len(), panel, n, y);
        }
    }
}

/// Decodes some blocks of eight rows.
#[inline(always)]
fn fill<T: Target, B: Quantized>(
    target: T,
    octets: impl Iterator<Item = impl Octet<B>>,
    half: usize,
    panel: &mut Panel<'_>,
) {
    for (i, octet) in octets.enumerate() {
        let codes = &mut panel.codes[i * B::GROUPS..][..B::GROUPS];
        octet_codes::<T, B>(
            target,
            octet,
            #[inline(always)]
            |g, q, bytes| {
                let taken = bias::<T, B>() - panel_bias::<T, B>();
                let bytes = if taken > 0 { target.sub_bytes(bytes, taken) } else { bytes };
                target.store_bytes(bytes, &mut codes[g][half].0[q]);
            },
        );
        if T::TWO_TOKENS {
            join_quads(target, codes, half);
        }
        if B::SUB_BLOCKS {
            let groups = &mut panel.groups[i * B::GROUPS..][..B::GROUPS];
            let scales = Scales::new(target, octet);
            eight(
                #[inline(always)]
                |g| put_group::<T, B>(target, &scales, g, &mut groups[g][half]),
            );
        }
        let floats = octet.floats(target);
        target.store(floats[0], &mut panel.heads[i][half].0[0]);
        if B::HAS_MIN {
            target.store(floats[1], &mut panel.heads[i][half].0[1]);
        }
    }
}

/// Brings the codes of eight rows into the order in which products of two tokens take them.
#[inline(always)]
fn join_quads<T: Target>(target: T, codes: &mut [[Codes; 2]], half: usize) {
    for codes in codes {
        for [first, second] in codes[half].0.as_chunks_mut().0 {
            let joined = target.join_quads([target.load_bytes(first), target.load_bytes(second)]);
            target.store_bytes(joined[0], first);
            target.store_bytes(joined[1], second);
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
