//! [`Packed`]: the checked view of packed codes; packing and unpacking.

use super::PackedError;
use super::layout::{Layout, Nibbles};
use crate::{SLAB_HALF, Slab};

/// Packed codes `w[n,k]` where they lie, with the layout they are in.
///
/// Made once, checked: `n` is a multiple of 16, `k` is even, the bytes are exactly `n * k / 2`. Any byte is
/// two legal codes, so that there is nothing else to check. No row or no column is legal.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    layout: Layout,
    n: usize,
    k: usize,
    bytes: &'a [u8],
}

impl<'a> Packed<'a> {
    /// A view of `bytes` as `n` rows of `k` codes that `layout`'s packer made.
    ///
    /// # Errors
    /// [`PackedError::RaggedRows`] where `n` is no multiple of 16, [`PackedError::OddK`], [`PackedError::TooLarge`],
    /// [`PackedError::PackedLength`] where `bytes` are not [`packed_bytes`].
    pub fn new(layout: Layout, n: usize, k: usize, bytes: &'a [u8]) -> Result<Self, PackedError> {
        let expected = packed_bytes(n, k)?;
        if bytes.len() != expected {
            return Err(PackedError::PackedLength { n, k, expected, found: bytes.len() });
        }
        Ok(Self { layout, n, k, bytes })
    }

    /// How the bytes lie.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Rows: output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Codes of a row: the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The bytes viewed.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The code at `w[n,k]`; `None` where there is no such row or column.
    #[must_use]
    pub fn code(&self, n: usize, k: usize) -> Option<u8> {
        self.row(n)?.nth(k)
    }

    /// The `k` codes of row `n`; `None` where there is no such row.
    #[must_use]
    pub fn row(&self, n: usize) -> Option<impl ExactSizeIterator<Item = u8> + use<'a>> {
        (n < self.n).then(|| self.codes(n))
    }

    /// The codes of row `n`, which is there.
    pub(super) fn codes(&self, n: usize) -> impl ExactSizeIterator<Item = u8> + use<'a> {
        let Nibbles { first, stride, shift } = self.layout.nibbles(self.n, self.k, n);
        self.bytes.iter().skip(first).step_by(stride).take(self.k).map(move |byte| byte >> shift & 15)
    }

    /// Writes all codes, row by row, to `codes`: `n * k` of them, one to a byte.
    ///
    /// # Errors
    /// [`PackedError::CodesLength`] where `codes` has another length.
    pub fn unpack(&self, codes: &mut [u8]) -> Result<(), PackedError> {
        check_codes(self.n, self.k, codes)?;
        for n in 0..self.n {
            let row = &mut codes[n * self.k..][..self.k];
            row.iter_mut().zip(self.codes(n)).for_each(|(code, packed)| *code = packed);
        }
        Ok(())
    }
}

impl Packed<'_> {
    /// Packs the same codes in another layout into `out`, row by row: nothing is unpacked in between.
    ///
    /// # Errors
    /// [`PackedError::PackedLength`] where `out` has another length than these bytes.
    pub fn repack<'b>(&self, layout: Layout, out: &'b mut [u8]) -> Result<Packed<'b>, PackedError> {
        pack_rows(layout, self.n, self.k, |row| self.codes(row), out)
    }
}

impl<'a> Packed<'a> {
    /// The slabs of the blocks of rows from row `first`, which begins a block, up to row `end`, which ends one.
    ///
    /// # Panics
    /// Where `first` begins no block or `end` ends none.
    pub fn slabs(&self, first: usize, end: usize) -> impl Iterator<Item = Slab<'a>> + use<'a> {
        let Self { layout, n, k, bytes } = *self;
        let block = layout.block();
        assert!(first.is_multiple_of(block) || first == n, "row {first} begins no block of {block} in {n} rows");
        assert!(end.is_multiple_of(block) || end == n, "row {end} ends no block of {block} in {n} rows");
        assert!(first <= end && end <= n, "rows {first} to {end} of {n}");
        (first..end).step_by(block).flat_map(move |n0| {
            let width = block.min(n - n0);
            let half = width / 2;
            let of_block = &bytes[n0 / 2 * k..][..half * k];
            let from = move |d: usize| of_block.get(d..).unwrap_or_default();
            let split_halves = layout.splits_halves(width);
            (0..half).step_by(SLAB_HALF).map(move |d| Slab {
                bytes: [from(d), from(d + SLAB_HALF / 2)],
                stride: half,
                first: if split_halves { [n0 + d, n0 + half + d] } else { [n0 + 2 * d, n0 + 2 * d + 1] },
                step: if split_halves { 1 } else { 2 },
                width: SLAB_HALF.min(half - d),
            })
        })
    }
}

/// Packs rows of codes, none of which is above 15.
pub(super) fn pack_rows<I: Iterator<Item = u8>>(
    layout: Layout,
    n: usize,
    k: usize,
    codes: impl Fn(usize) -> I,
    out: &mut [u8],
) -> Result<Packed<'_>, PackedError> {
    Packed::new(layout, n, k, out)?;
    out.fill(0);
    for row in 0..n {
        let Nibbles { first, stride, shift } = layout.nibbles(n, k, row);
        let bytes = out.iter_mut().skip(first).step_by(stride);
        bytes.zip(codes(row).take(k)).for_each(|(byte, code)| *byte |= code << shift);
    }
    Packed::new(layout, n, k, out)
}

/// Packs `codes` (`n` rows of `k`, one to a byte) as `layout`'s packer does into `out`, and gives the view of it.
///
/// Nothing is written where an error is returned.
///
/// # Errors
/// Those of [`Packed::new`] for the shape and `out`; [`PackedError::CodesLength`] where `codes` are not `n * k`;
/// [`PackedError::CodeOutOfRange`] for the first code above 15.
pub fn pack<'a>(
    layout: Layout,
    n: usize,
    k: usize,
    codes: &[u8],
    out: &'a mut [u8],
) -> Result<Packed<'a>, PackedError> {
    Packed::new(layout, n, k, out)?;
    check_codes(n, k, codes)?;
    if let Some(at) = codes.iter().position(|&code| code > 15) {
        return Err(PackedError::CodeOutOfRange { row: at / k, column: at % k, code: codes[at] });
    }
    pack_rows(layout, n, k, |row| codes[row * k..][..k].iter().copied(), out)
}

/// Bytes that `n` rows of `k` codes take, the same in every layout.
///
/// # Errors
/// [`PackedError::RaggedRows`] where `n` is no multiple of 16, [`PackedError::OddK`], [`PackedError::TooLarge`].
pub const fn packed_bytes(n: usize, k: usize) -> Result<usize, PackedError> {
    if !n.is_multiple_of(16) {
        return Err(PackedError::RaggedRows { n });
    }
    if !k.is_multiple_of(2) {
        return Err(PackedError::OddK { k });
    }
    match n.checked_mul(k) {
        Some(codes) => Ok(codes / 2),
        None => Err(PackedError::TooLarge { n, k }),
    }
}

/// Refuses unpacked codes of another length than `n * k`, a product that [`packed_bytes`] has found to fit.
const fn check_codes(n: usize, k: usize, codes: &[u8]) -> Result<(), PackedError> {
    if codes.len() != n * k {
        return Err(PackedError::CodesLength { n, k, expected: n * k, found: codes.len() });
    }
    Ok(())
}
