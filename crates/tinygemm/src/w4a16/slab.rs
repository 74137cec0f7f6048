//! [`Slab`]: the bytes of a few rows, as kernels walk them.

use super::{Layout, Packed};

/// Rows that a [`Slab`] has at most.
pub const SLAB_ROWS: usize = 32;

/// The rows whose codes lie in the same sixteen (or last eight) bytes of each column of a block.
///
/// Kernels of any layout are written over it: the layouts differ only in where columns lie and in which row a nibble belongs to.
///
/// ```text
/// column::<true>(k): 16 bytes; the low nibbles are the codes of rows()[0 … 15], the high ones of rows()[16 … 31]
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slab<'a> {
    bytes: &'a [u8],
    stride: usize,
    width: usize,
    rows: [usize; SLAB_ROWS],
}

impl Slab<'_> {
    /// The row of each nibble: low ones of the column's bytes, then high ones. There are none for what is not in [`column`](Self::column).
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let lanes = (0..self.width).chain(SLAB_ROWS / 2..SLAB_ROWS / 2 + self.width);
        lanes.map(|lane| (lane, self.rows[lane]))
    }

    /// Whether columns have sixteen bytes, and not eight.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.width == SLAB_ROWS / 2
    }

    /// The bytes of column `k`; of a slab that is not [whole](Self::is_whole), eight bytes and eight zeros. `WHOLE` is which it is.
    ///
    /// # Panics
    /// Where there is no such column.
    #[inline(always)]
    #[must_use]
    pub fn column<const WHOLE: bool>(&self, k: usize) -> [u8; 16] {
        let bytes = &self.bytes[k * self.stride..];
        let mut column = [0; 16];
        if WHOLE {
            column.copy_from_slice(&bytes[..16]);
        } else {
            column[..8].copy_from_slice(&bytes[..8]);
        }
        column
    }
}

impl<'a> Packed<'a> {
    /// The slabs of the blocks of rows from row `first`, which begins a block, up to row `end`, which ends one.
    ///
    /// # Panics
    /// Where `first` begins no block or `end` ends none.
    pub fn slabs(&self, first: usize, end: usize) -> impl Iterator<Item = Slab<'a>> + use<'a> {
        let (layout, n, k, bytes) = (self.layout(), self.n(), self.k(), self.bytes());
        let block = layout.block();
        assert!(first.is_multiple_of(block) || first == n, "row {first} begins no block of {block} in {n} rows");
        assert!(end.is_multiple_of(block) || end == n, "row {end} ends no block of {block} in {n} rows");
        assert!(first <= end && end <= n, "rows {first} to {end} of {n}");
        (first..end).step_by(block).flat_map(move |n0| {
            let width = block.min(n - n0);
            let half = width / 2;
            let of_block = &bytes[n0 / 2 * k..][..half * k];
            (0..half).step_by(SLAB_ROWS / 2).map(move |d| Slab {
                bytes: of_block.get(d..).unwrap_or_default(),
                stride: half,
                width: (half - d).min(SLAB_ROWS / 2),
                rows: rows(layout, n0, width, d),
            })
        })
    }
}

/// The rows of the nibbles of bytes `d` and on, of a block of `width` rows from `n0`.
fn rows(layout: Layout, n0: usize, width: usize, d: usize) -> [usize; SLAB_ROWS] {
    let half = width / 2;
    let split_halves = layout != Layout::Scalar && width == layout.block();
    core::array::from_fn(|lane| {
        let (d, high) = (d + lane % (SLAB_ROWS / 2), lane / (SLAB_ROWS / 2));
        if split_halves { n0 + d + half * high } else { n0 + 2 * d + high }
    })
}
