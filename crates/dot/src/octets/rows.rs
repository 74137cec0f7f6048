//! [`Rows`]: rows of blocks, taken eight by eight.

use core::ops::Range;

use super::octet::{Octet, Record};
use crate::{LANES, Quantized, Target};

/// Rows of blocks, taken eight by eight.
pub(crate) trait Rows<B: Quantized>: Copy {
    /// The most tokens, of 1, 2 and 4, that a stream is multiplied by at a time: with more, what is computed delays what is read.
    const TOKENS: usize;

    /// How many rows there are.
    fn n(self) -> usize;

    /// Blocks of a row.
    fn row_blocks(self) -> usize;

    /// Some blocks of the eight rows from `first` on, to be decoded in turn with those that follow, which are asked for. Past the last
    /// row stands something whose results are not read.
    fn octets<T: Target>(self, target: T, first: usize, blocks: Range<usize>) -> impl Iterator<Item = impl Octet<B>>;

    /// All blocks of the `i`th of the eights of rows that memory is read fastest by.
    fn stream(self, i: usize) -> impl Iterator<Item = impl Octet<B>>;

    /// The number of row `r` of the `i`th of these eights; past the last row, none.
    fn row(self, i: usize, r: usize) -> usize;
}

/// Rows where they lie.
#[derive(Clone, Copy)]
pub(crate) struct InPlace<'a, B> {
    pub(crate) blocks: &'a [B],
    pub(crate) row_blocks: usize,
}

impl<'a, B: Quantized> InPlace<'a, B> {
    /// Blocks of eight rows so many apart; in place of one past the last row, the last.
    #[inline(always)]
    fn eight(self, first: usize, apart: usize, blocks: Range<usize>) -> impl Iterator<Item = [&'a B; LANES]> {
        let last = self.n() - 1;
        let row = |r: usize| &self.blocks[(first + r * apart).min(last) * self.row_blocks..][blocks.clone()];
        let rows = row(0).iter().zip(row(1)).zip(row(2)).zip(row(3)).zip(row(4)).zip(row(5)).zip(row(6)).zip(row(7));
        rows.map(
            #[inline(always)]
            |(((((((r, s), t), u), v), w), x), y)| [r, s, t, u, v, w, x, y],
        )
    }
}

impl<B: Quantized> Rows<B> for InPlace<'_, B> {
    const TOKENS: usize = 4;

    #[inline(always)]
    fn n(self) -> usize {
        self.blocks.len() / self.row_blocks
    }

    #[inline(always)]
    fn row_blocks(self) -> usize {
        self.row_blocks
    }

    #[inline(always)]
    fn octets<T: Target>(self, target: T, first: usize, blocks: Range<usize>) -> impl Iterator<Item = impl Octet<B>> {
        let (eights, block) = following(first, &blocks, self.row_blocks);
        let next = eights * LANES * self.row_blocks + block;
        let ahead = Ahead { at: self.blocks.as_ptr().wrapping_add(next), row_blocks: self.row_blocks };
        self.eight(first, 1, blocks).enumerate().map(
            #[inline(always)]
            move |(i, octet)| {
                ahead.fetch(target, i);
                octet
            },
        )
    }

    /// Rows far apart, each the first of a stream of rows that follow each other: hardware fetches ahead in eight streams, but not in
    /// rows side by side.
    #[inline(always)]
    fn stream(self, i: usize) -> impl Iterator<Item = impl Octet<B>> {
        self.eight(i, self.row(0, 1), 0..self.row_blocks)
    }

    #[inline(always)]
    fn row(self, i: usize, r: usize) -> usize {
        i + r * self.n().div_ceil(LANES)
    }
}

/// Rows interleaved by eight, a record a block.
#[derive(Clone, Copy)]
pub(crate) struct Interleaved<'a, B> {
    pub(crate) n: usize,
    pub(crate) records: &'a [[B; LANES]],
    pub(crate) row_blocks: usize,
}

impl<B: Quantized> Rows<B> for Interleaved<'_, B> {
    const TOKENS: usize = 2;

    #[inline(always)]
    fn n(self) -> usize {
        self.n
    }

    #[inline(always)]
    fn row_blocks(self) -> usize {
        self.row_blocks
    }

    #[inline(always)]
    fn octets<T: Target>(self, target: T, first: usize, blocks: Range<usize>) -> impl Iterator<Item = impl Octet<B>> {
        // Where there are no more rows than eight, the first stand in for those after them.
        let at = if first < self.n { first / LANES * self.row_blocks } else { 0 };
        let (eights, block) = following(first, &blocks, self.row_blocks);
        let next = self.records.as_ptr().wrapping_add(eights * self.row_blocks + block);
        self.records[at..][blocks].iter().enumerate().map(
            #[inline(always)]
            move |(i, record)| {
                let next = next.wrapping_add(i).cast::<u8>();
                for byte in (0..size_of::<[B; LANES]>()).step_by(64) {
                    target.prefetch(next.wrapping_add(byte));
                }
                Record(record)
            },
        )
    }

    /// One stream. Asking for what follows slows it down.
    #[inline(always)]
    fn stream(self, i: usize) -> impl Iterator<Item = impl Octet<B>> {
        self.records[i * self.row_blocks..][..self.row_blocks].iter().map(Record)
    }

    #[inline(always)]
    fn row(self, i: usize, r: usize) -> usize {
        i * LANES + r
    }
}

/// Which eights of rows, and which of their blocks, are read after those of the eight from `first` on (the first or the second eight): the same
/// of the second eight, the next of the first, or what comes after both.
#[inline(always)]
fn following(first: usize, blocks: &Range<usize>, row_blocks: usize) -> (usize, usize) {
    if first == 0 {
        (1, blocks.start)
    } else if blocks.end < row_blocks {
        (0, blocks.end)
    } else {
        (2, 0)
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
