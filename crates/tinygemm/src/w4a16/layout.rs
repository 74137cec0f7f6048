//! [`Layout`]: which instruction set's packer made the bytes, and where it put each row.

/// The instruction set that packed the codes; the [module](super) has a picture of each.
///
/// It says how the bytes lie, not what the machine at hand can do: every layout is read everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Blocks of 64 rows, split halves.
    Avx512,
    /// Blocks of 32 rows, split halves.
    Avx2,
    /// Blocks of 32 rows, pairs: PyTorch's capability `default`.
    Scalar,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Scalar];

    /// Rows in a full block.
    #[must_use]
    pub const fn block(self) -> usize {
        match self {
            Self::Avx512 => 64,
            Self::Avx2 | Self::Scalar => 32,
        }
    }

    /// Whether low and high nibbles of a block of `width` rows are its first and its second half, and not pairs of rows.
    pub(super) fn splits_halves(self, width: usize) -> bool {
        self != Self::Scalar && width == self.block()
    }

    /// Where `row` lies among the bytes of `n` rows of `k` codes. `row < n`, `n` a multiple of 16.
    pub(super) fn nibbles(self, n: usize, k: usize, row: usize) -> Nibbles {
        let block = self.block();
        let n0 = row / block * block;
        let width = block.min(n - n0);
        let (half, i) = (width / 2, row - n0);
        let (d, high) = if self.splits_halves(width) { (i % half, i >= half) } else { (i / 2, i % 2 == 1) };
        Nibbles { first: n0 / 2 * k + d, stride: half, shift: if high { 4 } else { 0 } }
    }
}

/// The nibbles of one row: one every `stride` bytes, all at the same place in the byte.
#[derive(Clone, Copy)]
pub(super) struct Nibbles {
    /// The byte of k = 0.
    pub(super) first: usize,
    /// Bytes from one k to the next.
    pub(super) stride: usize,
    /// 0 for the low nibble, 4 for the high one.
    pub(super) shift: u32,
}
