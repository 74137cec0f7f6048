//! [`Interleaved`]: weights whose rows are interleaved by eight, an explicit copy.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use bytemuck::{bytes_of, cast_slice, cast_slice_mut};
use keepq_act::ActFormat;
use keepq_blocks::{GgmlType, Matrix, Rows};

use crate::{LANES, ProductError, Quantized};

/// A copy of a matrix of blocks in which eight rows lie side by side: the layout that one token is multiplied by fastest.
///
/// Blocks of eight rows make a record of as many bytes: word after word (of four bytes) of the block, each of all eight rows. A float scale
/// that has no minimum beside it is a word of two bytes. So what stands at byte `at` of a block stands at `8 * at` of the record, and no
/// bit is lost or added; rows of zeros make `n` a multiple of eight.
///
/// ```
/// use keepq_blocks::{GgmlType, Matrix, encode_row};
/// use keepq_dot::Interleaved;
///
/// let mut bytes = [0; 3 * 34];
/// encode_row(GgmlType::Q8_0, &[0.5; 96], &mut bytes)?; // w: n = 3, k = 32
/// let weights = Interleaved::new(Matrix::new(GgmlType::Q8_0, 3, 32, &bytes)?)?;
/// assert_eq!((weights.n(), weights.k(), weights.bytes()), (3, 32, 8 * 34));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `M` is memory of the caller's choice, such as pages larger than usual, in which one token is multiplied up to 1.5 times as fast.
#[derive(Clone)]
pub struct Interleaved<M = Vec<u8>> {
    ty: GgmlType,
    n: usize,
    k: usize,
    records: M,
}

impl Interleaved {
    /// Whether rows of this type can be interleaved: those of blocks that are multiplied by int8 activations, but for Q6_K, which
    /// is read from memory at its full rate as it is, and not when interleaved (measured).
    #[must_use]
    pub fn supports(ty: GgmlType) -> bool {
        let quantized = matches!(ActFormat::for_weights(ty), Some(ActFormat::Q8_0 | ActFormat::Q8_K));
        quantized && ty != GgmlType::Q6_K
    }

    /// Bytes that a copy of `w` takes.
    #[must_use]
    pub fn bytes_for(w: &Matrix<'_>) -> usize {
        w.n().next_multiple_of(LANES) * row_bytes(w.ty(), w.k())
    }

    /// Copies `w`.
    ///
    /// # Errors
    /// [`ProductError::NotInterleaved`] where its type is not [supported](Self::supports).
    pub fn new(w: Matrix<'_>) -> Result<Self, ProductError> {
        Self::in_memory(w, alloc::vec![0; Self::bytes_for(&w)])
    }
}

impl<M: AsRef<[u8]>> Interleaved<M> {
    /// Copies `w` to the first [bytes](Interleaved::bytes_for) of `memory`.
    ///
    /// # Errors
    /// [`ProductError::NotInterleaved`] where its type is not [supported](Interleaved::supports), [`ProductError::NoMemory`]
    /// where there are fewer bytes.
    pub fn in_memory(w: Matrix<'_>, mut records: M) -> Result<Self, ProductError>
    where
        M: AsMut<[u8]>,
    {
        let (ty, n, k) = (w.ty(), w.n(), w.k());
        if !Interleaved::supports(ty) {
            return Err(ProductError::NotInterleaved { ty });
        }
        let bytes = Interleaved::bytes_for(&w);
        let all = records.as_mut().get_mut(..bytes).ok_or(ProductError::NoMemory { bytes })?;
        // Whole eights are overwritten; only rows past the last one have to be zeros.
        all[n / LANES * LANES * row_bytes(ty, k)..].fill(0);
        match w.typed() {
            Rows::Q4_0(blocks) => interleave(blocks, k, all),
            Rows::Q4_1(blocks) => interleave(blocks, k, all),
            Rows::Q5_0(blocks) => interleave(blocks, k, all),
            Rows::Q5_1(blocks) => interleave(blocks, k, all),
            Rows::Q8_0(blocks) => interleave(blocks, k, all),
            Rows::Q2_K(blocks) => interleave(blocks, k, all),
            Rows::Q3_K(blocks) => interleave(blocks, k, all),
            Rows::Q4_K(blocks) => interleave(blocks, k, all),
            Rows::Q5_K(blocks) => interleave(blocks, k, all),
            _ => unreachable!("refused above"),
        }
        Ok(Self { ty, n, k, records })
    }

    /// The type of the blocks.
    #[must_use]
    pub const fn ty(&self) -> GgmlType {
        self.ty
    }

    /// Output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Bytes of the copy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.n.next_multiple_of(LANES) * row_bytes(self.ty, self.k)
    }

    /// All rows.
    #[must_use]
    pub fn view(&self) -> InterleavedRows<'_> {
        InterleavedRows { ty: self.ty, n: self.n, k: self.k, records: &self.records.as_ref()[..self.bytes()] }
    }
}

impl<M> fmt::Debug for Interleaved<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interleaved")
            .field("ty", &self.ty)
            .field("n", &self.n)
            .field("k", &self.k)
            .finish_non_exhaustive()
    }
}

/// Some rows of [`Interleaved`] weights.
#[derive(Clone, Copy)]
pub struct InterleavedRows<'a> {
    ty: GgmlType,
    n: usize,
    k: usize,
    records: &'a [u8],
}

impl<'a> InterleavedRows<'a> {
    /// The type of the blocks.
    #[must_use]
    pub const fn ty(&self) -> GgmlType {
        self.ty
    }

    /// Output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The records, whose blocks are of the type `B`.
    pub(crate) fn records<B: Quantized>(self) -> &'a [[B; LANES]] {
        debug_assert_eq!(self.ty, B::TYPE);
        cast_slice(self.records)
    }
}

impl fmt::Debug for InterleavedRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterleavedRows")
            .field("ty", &self.ty)
            .field("n", &self.n)
            .field("k", &self.k)
            .finish_non_exhaustive()
    }
}

/// Rows of weights that can be half of a [`Product`](crate::Product).
pub trait WeightRows: Copy {
    /// The type that they are stored in.
    fn ty(&self) -> GgmlType;

    /// Output features.
    fn n(&self) -> usize;

    /// Elements of the reduction axis.
    fn k(&self) -> usize;

    /// Some of the rows.
    ///
    /// # Panics
    /// Where `range` passes `n`, or where rows are interleaved, begins in the midst of eight.
    fn rows(&self, range: Range<usize>) -> Self;
}

impl WeightRows for Matrix<'_> {
    fn ty(&self) -> GgmlType {
        Matrix::ty(self)
    }

    fn n(&self) -> usize {
        Matrix::n(self)
    }

    fn k(&self) -> usize {
        Matrix::k(self)
    }

    fn rows(&self, range: Range<usize>) -> Self {
        Matrix::rows(self, range)
    }
}

impl WeightRows for InterleavedRows<'_> {
    fn ty(&self) -> GgmlType {
        self.ty
    }

    fn n(&self) -> usize {
        self.n
    }

    fn k(&self) -> usize {
        self.k
    }

    fn rows(&self, range: Range<usize>) -> Self {
        assert!(
            range.end <= self.n && range.start.is_multiple_of(LANES),
            "rows {range:?} of {}, interleaved by {LANES}",
            self.n
        );
        let row_bytes = row_bytes(self.ty, self.k);
        let records = &self.records[range.start * row_bytes..range.end.next_multiple_of(LANES) * row_bytes];
        Self { n: range.len(), records, ..*self }
    }
}

fn row_bytes(ty: GgmlType, k: usize) -> usize {
    k / ty.block_len() * ty.block_bytes()
}

/// Copies rows of `k` elements to records; what stands for rows that are not there stays as it is.
fn interleave<B: Quantized>(blocks: &[B], k: usize, records: &mut [u8]) {
    let row_blocks = k / B::LEN;
    if row_blocks == 0 {
        return;
    }
    let records: &mut [[B; LANES]] = cast_slice_mut(records);
    for (rows, records) in blocks.chunks(LANES * row_blocks).zip(records.chunks_exact_mut(row_blocks)) {
        for (r, row) in rows.chunks_exact(row_blocks).enumerate() {
            for (block, record) in row.iter().zip(&mut *records) {
                let (block, record) = (bytes_of(block), bytemuck::bytes_of_mut(record));
                let mut at = 0;
                while at < block.len() {
                    let word = if at == B::FLOATS_AT && !B::HAS_MIN { 2 } else { 4 };
                    record[LANES * at + r * word..][..word].copy_from_slice(&block[at..][..word]);
                    at += word;
                }
            }
        }
    }
}
