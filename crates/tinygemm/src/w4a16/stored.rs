//! [`Stored`] and [`StoredRowMajor`]: weights that own their parts, or borrow them.

use alloc::borrow::Cow;

use half::bf16;

use super::{Layout, Packed, PackedError, RowMajor, Weights};
use crate::LayoutError;

/// Packed weights that own their codes and scales, or borrow them: what an engine holds.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    layout: Layout,
    n: usize,
    k: usize,
    group: usize,
    bytes: Cow<'a, [u8]>,
    scales: Cow<'a, [[bf16; 2]]>,
}

impl<'a> Stored<'a> {
    /// Puts packed codes and scales together.
    ///
    /// # Errors
    /// Those of [`Packed::new`] and [`Weights::new`].
    pub fn new(
        layout: Layout,
        (n, k): (usize, usize),
        group: usize,
        bytes: impl Into<Cow<'a, [u8]>>,
        scales: impl Into<Cow<'a, [[bf16; 2]]>>,
    ) -> Result<Self, PackedError> {
        let (bytes, scales) = (bytes.into(), scales.into());
        Weights::new(Packed::new(layout, n, k, &bytes)?, group, &scales)?;
        Ok(Self { layout, n, k, group, bytes, scales })
    }

    /// The weights.
    #[must_use]
    pub fn view(&self) -> Weights<'_> {
        let packed = Packed::new(self.layout, self.n, self.k, &self.bytes);
        packed.and_then(|packed| Weights::new(packed, self.group, &self.scales)).expect("checked when it was made")
    }
}

impl<'a> From<Weights<'a>> for Stored<'a> {
    fn from(w: Weights<'a>) -> Self {
        let packed = w.packed();
        let (bytes, scales) = (Cow::Borrowed(packed.bytes()), Cow::Borrowed(w.scales()));
        Self { layout: packed.layout(), n: packed.n(), k: packed.k(), group: w.group(), bytes, scales }
    }
}

/// Row-major weights that own their codes, scales and zeros, or borrow them.
#[derive(Clone, Debug)]
pub struct StoredRowMajor<'a> {
    n: usize,
    k: usize,
    group: usize,
    packed: Cow<'a, [u8]>,
    scales: Cow<'a, [bf16]>,
    zeros: Cow<'a, [bf16]>,
}

impl<'a> StoredRowMajor<'a> {
    /// Puts the three tensors of a checkpoint together.
    ///
    /// # Errors
    /// Those of [`RowMajor::new`].
    pub fn new(
        (n, k): (usize, usize),
        group: usize,
        packed: impl Into<Cow<'a, [u8]>>,
        scales: impl Into<Cow<'a, [bf16]>>,
        zeros: impl Into<Cow<'a, [bf16]>>,
    ) -> Result<Self, LayoutError> {
        let (packed, scales, zeros) = (packed.into(), scales.into(), zeros.into());
        RowMajor::new((n, k), group, &packed, &scales, &zeros)?;
        Ok(Self { n, k, group, packed, scales, zeros })
    }

    /// The weights.
    #[must_use]
    pub fn view(&self) -> RowMajor<'_> {
        let view = RowMajor::new((self.n, self.k), self.group, &self.packed, &self.scales, &self.zeros);
        view.expect("checked when it was made")
    }
}

impl<'a> From<RowMajor<'a>> for StoredRowMajor<'a> {
    fn from(w: RowMajor<'a>) -> Self {
        let (packed, scales, zeros) = w.tensors();
        let (packed, scales, zeros) = (Cow::Borrowed(packed), Cow::Borrowed(scales), Cow::Borrowed(zeros));
        Self { n: w.n(), k: w.k(), group: w.group(), packed, scales, zeros }
    }
}
