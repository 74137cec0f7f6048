//! [`RowMajor`]: the form of `cpu_int4` checkpoints.

use half::bf16;

use super::packed::pack_rows;
use super::{Layout, Packed, PackedError, Weights};
use crate::LayoutError;
use crate::error::{check_codes, check_length, is_group};

const FORMAT: &str = "cpu_int4";

/// Weights as `cpu_int4` checkpoints store them: `weight_packed`, `weight_scale`, `weight_zero`.
///
/// ```text
/// packed[N][K/2]        byte j = w[2j] | w[2j + 1] << 4
/// scales, zeros[N][K/group]   bf16; the zero is the offset of int4pack
/// ```
///
/// The same weights as [`Weights`], in a plain order: it has no arithmetic of its own, and is packed for a layout before it
/// is multiplied by. Any n is legal here.
#[derive(Clone, Copy, Debug)]
pub struct RowMajor<'a> {
    n: usize,
    k: usize,
    group: usize,
    packed: &'a [u8],
    scales: &'a [bf16],
    zeros: &'a [bf16],
}

impl<'a> RowMajor<'a> {
    /// A view of a checkpoint's three tensors.
    ///
    /// # Errors
    /// [`LayoutError::OddK`], [`LayoutError::Group`], [`LayoutError::TooLarge`], and [`LayoutError::Length`] of the first that is
    /// not as the shape asks for.
    pub fn new(
        (n, k): (usize, usize),
        group: usize,
        packed: &'a [u8],
        scales: &'a [bf16],
        zeros: &'a [bf16],
    ) -> Result<Self, LayoutError> {
        let bytes = row_major_bytes(n, k)?;
        if !is_group(k, group) {
            return Err(LayoutError::Group { format: FORMAT, k, group });
        }
        check_length(FORMAT, "packed bytes", bytes, packed.len())?;
        check_length(FORMAT, "scales", n * (k / group), scales.len())?;
        check_length(FORMAT, "zeros", n * (k / group), zeros.len())?;
        Ok(Self { n, k, group, packed, scales, zeros })
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

    /// Codes of a row that share a scale and a zero.
    #[must_use]
    pub const fn group(&self) -> usize {
        self.group
    }

    /// Bytes of codes, scales and zeros.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.packed.len() + size_of_val(self.scales) + size_of_val(self.zeros)
    }

    /// The packed codes, the scales and the zeros of all rows.
    #[must_use]
    pub const fn tensors(&self) -> (&'a [u8], &'a [bf16], &'a [bf16]) {
        (self.packed, self.scales, self.zeros)
    }

    /// The packed codes of row `n`, the `k / group` scales and as many zeros; `None` where there is no such row.
    #[must_use]
    pub fn parts(&self, n: usize) -> Option<(&'a [u8], &'a [bf16], &'a [bf16])> {
        let (bytes, groups) = (self.k / 2, self.k / self.group);
        (n < self.n).then(|| {
            let of_groups = n * groups..(n + 1) * groups;
            (&self.packed[n * bytes..][..bytes], &self.scales[of_groups.clone()], &self.zeros[of_groups])
        })
    }

    /// The `k` codes of row `n`; `None` where there is no such row.
    #[must_use]
    pub fn row(&self, n: usize) -> Option<impl Iterator<Item = u8> + use<'a>> {
        (n < self.n).then(|| self.codes(n))
    }

    fn codes(&self, n: usize) -> impl Iterator<Item = u8> + use<'a> {
        self.packed[n * (self.k / 2)..][..self.k / 2].iter().flat_map(|byte| [byte & 15, byte >> 4])
    }

    /// Packs the codes for `layout` into `bytes` and the scales and zeros into `scales`, with no other memory.
    ///
    /// # Errors
    /// [`PackedError::RaggedRows`] where n is no multiple of 16, [`PackedError::PackedLength`] where `bytes` are not `n * k / 2`,
    /// [`PackedError::ScalesLength`] where `scales` are not `k / group * n`. Nothing is written where an error is returned.
    pub fn pack<'b>(
        &self,
        layout: Layout,
        bytes: &'b mut [u8],
        scales: &'b mut [[bf16; 2]],
    ) -> Result<Weights<'b>, PackedError> {
        // Refused before anything is written.
        Weights::new(Packed::new(layout, self.n, self.k, bytes)?, self.group, scales)?;
        let groups = self.k / self.group;
        for (i, pair) in scales.iter_mut().enumerate() {
            let at = i % self.n * groups + i / self.n;
            *pair = [self.scales[at], self.zeros[at]];
        }
        Weights::new(pack_rows(layout, self.n, self.k, |row| self.codes(row), bytes)?, self.group, scales)
    }
}

impl<'a> Weights<'a> {
    /// Packed codes that no tag says the layout of, beside the weights that they were packed from; `scales` as in [`Weights::new`].
    ///
    /// They are taken for AVX-512's where n is a multiple of its block, and compared code by code, so that bytes of another layout are never
    /// multiplied by. Else nothing says how the last block lies: `None`.
    ///
    /// # Errors
    /// [`PackedError::PackedLength`], [`PackedError::ScalesLength`], and [`PackedError::OtherCode`] for the first that `plain` has not.
    pub fn untagged(
        packed: &'a [u8],
        scales: &'a [[bf16; 2]],
        plain: &RowMajor<'_>,
    ) -> Result<Option<Self>, PackedError> {
        let (layout, n, k) = (Layout::Avx512, plain.n, plain.k);
        if !n.is_multiple_of(layout.block()) {
            return Ok(None);
        }
        let w = Self::new(Packed::new(layout, n, k, packed)?, plain.group, scales)?;
        for row in 0..n {
            for (column, (found, expected)) in w.packed().codes(row).zip(plain.codes(row)).enumerate() {
                if found != expected {
                    return Err(PackedError::OtherCode { row, column, expected, found });
                }
            }
        }
        Ok(Some(w))
    }
}

impl Weights<'_> {
    /// Writes the three tensors of a `cpu_int4` checkpoint, row by row.
    ///
    /// # Errors
    /// [`LayoutError::Length`] where one is not as the shape asks for; nothing is written then.
    pub fn to_row_major<'b>(
        &self,
        packed: &'b mut [u8],
        scales: &'b mut [bf16],
        zeros: &'b mut [bf16],
    ) -> Result<RowMajor<'b>, LayoutError> {
        let (n, k, group) = (self.packed().n(), self.packed().k(), self.group());
        RowMajor::new((n, k), group, packed, scales, zeros)?;
        let groups = k / group;
        for r in 0..n {
            let mut codes = self.packed().codes(r);
            for byte in &mut packed[r * (k / 2)..][..k / 2] {
                *byte = codes.next().unwrap_or(0) | codes.next().unwrap_or(0) << 4;
            }
            for g in 0..groups {
                [scales[r * groups + g], zeros[r * groups + g]] = self.scales()[g * n + r];
            }
        }
        RowMajor::new((n, k), group, packed, scales, zeros)
    }
}

/// Packs `codes` (`n` rows of `k`, one to a byte) two to a byte along k, low nibble first.
///
/// # Errors
/// [`LayoutError::OddK`], [`LayoutError::TooLarge`], [`LayoutError::Length`] of codes or bytes, [`LayoutError::CodeOutOfRange`] for the
/// first code above 15. Nothing is written where an error is returned.
pub fn pack_row_major(n: usize, k: usize, codes: &[u8], out: &mut [u8]) -> Result<(), LayoutError> {
    let bytes = row_major_bytes(n, k)?;
    check_length(FORMAT, "codes", n * k, codes.len())?;
    check_length(FORMAT, "packed bytes", bytes, out.len())?;
    check_codes(FORMAT, k, codes)?;
    for (byte, [low, high]) in out.iter_mut().zip(codes.as_chunks().0) {
        *byte = low | high << 4;
    }
    Ok(())
}

/// Bytes of `n` rows of `k` codes.
fn row_major_bytes(n: usize, k: usize) -> Result<usize, LayoutError> {
    if !k.is_multiple_of(2) {
        return Err(LayoutError::OddK { format: FORMAT, k });
    }
    Ok(n.checked_mul(k).ok_or(LayoutError::TooLarge { format: FORMAT, n, k })? / 2)
}
