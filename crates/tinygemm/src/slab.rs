//! [`Slab`]: the codes of a few rows, as kernels walk them.

/// Rows that a [`Slab`] has at most.
pub const SLAB_ROWS: usize = 32;

/// Lanes of each half of a slab: rows whose codes are low nibbles, and rows whose codes are high ones.
pub const SLAB_HALF: usize = SLAB_ROWS / 2;

/// The rows whose codes lie in the same two times eight bytes of each column.
///
/// Kernels of any format whose columns are bytes of two rows are written over it: int4pack in its layouts and the fallback differ only in
/// where the bytes of a column lie and in which row a nibble belongs to.
///
/// ```text
/// column::<true>(k): 16 bytes; the low nibbles are the codes of lanes 0 … 15, the high ones of lanes 16 … 31
/// lane h * 16 + i is row first()[h] + i * step()
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slab<'a> {
    /// From the first column's on, the first eight bytes and the others, if there are any.
    pub(crate) bytes: [&'a [u8]; 2],
    /// Bytes from one column to the next.
    pub(crate) stride: usize,
    pub(crate) first: [usize; 2],
    pub(crate) step: usize,
    /// Lanes of each half.
    pub(crate) width: usize,
}

impl Slab<'_> {
    /// The rows of the first lane and of the first whose code is a high nibble.
    #[must_use]
    pub const fn first(&self) -> [usize; 2] {
        self.first
    }

    /// Rows from one lane to the next: 1 where the halves are split, 2 where low and high nibbles are pairs of rows.
    #[must_use]
    pub const fn step(&self) -> usize {
        self.step
    }

    /// Whether columns have sixteen bytes, and not eight.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.width == SLAB_HALF
    }

    /// The row of each lane. There are none for what is not in [`column`](Self::column).
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> + Clone + use<> {
        let Self { first, step, width, .. } = *self;
        (0..2).flat_map(move |half| (0..width).map(move |i| (half * SLAB_HALF + i, first[half] + i * step)))
    }

    /// The bytes of column `k`; of a slab that is not [whole](Self::is_whole), eight bytes and eight zeros. `WHOLE` is which it is.
    ///
    /// # Panics
    /// Where there is no such column.
    #[inline(always)]
    #[must_use]
    pub fn column<const WHOLE: bool>(&self, k: usize) -> [[u8; 8]; 2] {
        let mut column = [[0; 8]; 2];
        column[0].copy_from_slice(&self.bytes[0][k * self.stride..][..8]);
        if WHOLE {
            column[1].copy_from_slice(&self.bytes[1][k * self.stride..][..8]);
        }
        column
    }
}
