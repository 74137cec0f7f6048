//! [`Stored`]: weights that own their parts, or borrow them.

use alloc::borrow::Cow;

use super::Weights;
use crate::LayoutError;

/// Weights that own their records, scales and zero points, or borrow them: what an engine holds.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    n: usize,
    k: usize,
    group: usize,
    records: Cow<'a, [u8]>,
    scales: Cow<'a, [f32]>,
    zeros: Cow<'a, [i8]>,
}

impl<'a> Stored<'a> {
    /// Puts records, scales and zero points together.
    ///
    /// # Errors
    /// Those of [`Weights::new`].
    pub fn new(
        (n, k): (usize, usize),
        group: usize,
        records: impl Into<Cow<'a, [u8]>>,
        scales: impl Into<Cow<'a, [f32]>>,
        zeros: impl Into<Cow<'a, [i8]>>,
    ) -> Result<Self, LayoutError> {
        let (records, scales, zeros) = (records.into(), scales.into(), zeros.into());
        Weights::new((n, k), group, &records, &scales, &zeros)?;
        Ok(Self { n, k, group, records, scales, zeros })
    }

    /// The weights.
    #[must_use]
    pub fn view(&self) -> Weights<'_> {
        let view = Weights::new((self.n, self.k), self.group, &self.records, &self.scales, &self.zeros);
        view.expect("checked when it was made")
    }
}
