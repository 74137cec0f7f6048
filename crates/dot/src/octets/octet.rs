//! [`Octet`]: a block of each of eight rows, seen as columns of four bytes.

use core::ops::Range;

use bytemuck::bytes_of;
use keepq_blocks::F16;

use crate::{LANES, Quantized, Target};

/// A block of each of eight rows: where they lie, or interleaved.
pub trait Octet<B: Quantized>: Copy {
    /// Columns of four bytes: in each lane those of the row's block that begin at byte `at`. Words do not reach over a field's end.
    fn words<T: Target, const N: usize>(self, target: T, at: usize) -> [T::Bytes; N];

    /// [`Quantized::d`] and [`Quantized::m`] of each row.
    fn floats<T: Target>(self, target: T) -> [T::F32s; 2];
}

/// Eight blocks where they lie.
impl<B: Quantized> Octet<B> for [&B; LANES] {
    #[inline(always)]
    fn words<T: Target, const N: usize>(self, target: T, at: usize) -> [T::Bytes; N] {
        let mut words = [target.splat_bytes([0; 4]); N];
        for first in (0..N).step_by(4) {
            let (at, n) = (at + 4 * first, 4.min(N - first));
            let four = if at + 16 <= size_of::<B>() {
                target.words(of_each(self, |block| bytes_of(block)[at..].first_chunk().expect("within the block")))
            } else {
                let mut copies = [[0; 16]; LANES];
                for r in 0..LANES {
                    copies[r][..4 * n].copy_from_slice(&bytes_of(self[r])[at..][..4 * n]);
                }
                target.words(copies.each_ref())
            };
            words[first..first + n].copy_from_slice(&four[..n]);
        }
        words
    }

    #[inline(always)]
    fn floats<T: Target>(self, target: T) -> [T::F32s; 2] {
        if !B::SUB_BLOCKS {
            // Blocks of 32 begin with their floats.
            let [floats] = Octet::<B>::words(self, target, 0);
            return target.widen_halves(floats);
        }
        let (mut d, mut m) = ([F16::default(); LANES], [F16::default(); LANES]);
        for r in 0..LANES {
            d[r] = self[r].d();
            m[r] = self[r].m();
        }
        [target.widen_f16(d), target.widen_f16(m)]
    }
}

/// Eight blocks interleaved: what stands at byte `at` of a block stands at `8 * at` here, row by row.
#[derive(Clone, Copy)]
pub(super) struct Record<'a, B>(&'a [B; LANES]);

impl<B: Quantized> Octet<B> for Record<'_, B> {
    #[inline(always)]
    fn words<T: Target, const N: usize>(self, target: T, at: usize) -> [T::Bytes; N] {
        let bytes = &bytes_of(self.0)[LANES * at..];
        let mut words = [target.splat_bytes([0; 4]); N];
        for i in 0..N {
            words[i] = target.load_bytes(bytes[32 * i..].first_chunk().expect("within the record"));
        }
        words
    }

    #[inline(always)]
    fn floats<T: Target>(self, target: T) -> [T::F32s; 2] {
        if B::HAS_MIN {
            let [floats] = self.words(target, B::FLOATS_AT);
            let [d, m] = target.widen_halves(floats);
            return [d, if B::SUB_BLOCKS { target.mul(m, target.splat(-1.0)) } else { m }];
        }
        let halves = bytes_of(self.0)[LANES * B::FLOATS_AT..].first_chunk::<16>().expect("within the record");
        [target.widen_f16(bytemuck::cast(*halves)); 2]
    }
}

/// Rows of blocks, eight by eight.
pub(crate) trait Rows<B: Quantized>: Copy {
    /// How many there are.
    fn n(self) -> usize;

    /// The blocks of eight rows, `first` the first of them; past the last row stands something that adds nothing that is read.
    fn octets<T: Target>(self, target: T, first: usize, blocks: Range<usize>) -> impl Iterator<Item = impl Octet<B>>;
}

/// Rows where they lie.
#[derive(Clone, Copy)]
pub(crate) struct InPlace<'a, B> {
    pub(crate) blocks: &'a [B],
    pub(crate) row_blocks: usize,
}

impl<B: Quantized> Rows<B> for InPlace<'_, B> {
    #[inline(always)]
    fn n(self) -> usize {
        self.blocks.len() / self.row_blocks
    }

    /// While they are read, those are asked for that come after them: of the eight rows that follow, or the next blocks of the
    /// first eight.
    #[inline(always)]
    fn octets<T: Target>(self, target: T, first: usize, blocks: Range<usize>) -> impl Iterator<Item = impl Octet<B>> {
        let next = if first == 0 {
            LANES * self.row_blocks + blocks.start
        } else if blocks.end < self.row_blocks {
            blocks.end
        } else {
            self.blocks.len()
        };
        let ahead = Ahead { at: self.blocks.as_ptr().wrapping_add(next), row_blocks: self.row_blocks };
        // Past the last row that one stands in, and its results are not read.
        let last = self.n() - 1;
        let row = |r: usize| &self.blocks[(first + r).min(last) * self.row_blocks..][blocks.clone()];
        let rows = row(0).iter().zip(row(1)).zip(row(2)).zip(row(3)).zip(row(4)).zip(row(5)).zip(row(6)).zip(row(7));
        rows.enumerate().map(
            #[inline(always)]
            move |(i, (((((((r, s), t), u), v), w), x), y))| {
                ahead.fetch(target, i);
                [r, s, t, u, v, w, x, y]
            },
        )
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
    #[inline(always)]
    fn n(self) -> usize {
        self.n
    }

    #[inline(always)]
    fn octets<T: Target>(self, _target: T, first: usize, blocks: Range<usize>) -> impl Iterator<Item = impl Octet<B>> {
        // Where there are no more rows than eight, the first stand in for those after them.
        let first = if first < self.n { first / LANES * self.row_blocks } else { 0 };
        self.records[first..][blocks].iter().map(Record)
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

/// A part of each of eight rows' blocks. Not `map`, which is not inlined reliably.
#[inline(always)]
fn of_each<'b, B, F: ?Sized>(
    [r, s, t, u, v, w, x, y]: [&'b B; LANES],
    field: impl Fn(&'b B) -> &'b F,
) -> [&'b F; LANES] {
    [field(r), field(s), field(t), field(u), field(v), field(w), field(x), field(y)]
}
