//! [`Stored`]: weights that own their parts, or borrow them.

use alloc::borrow::Cow;

use half::bf16;

use super::{Weights, Zeros};
use crate::LayoutError;

/// Weights that own their words, scales and zero points, or borrow them: what an engine holds.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    n: usize,
    k: usize,
    group: usize,
    words: Cow<'a, [u8]>,
    scales: Cow<'a, [bf16]>,
    zeros: Option<Cow<'a, [i32]>>,
}

impl<'a> Stored<'a> {
    /// Puts words, scales and zero points, where these are not all 8, together.
    ///
    /// # Errors
    /// Those of [`Weights::new`].
    pub fn new(
        (n, k): (usize, usize),
        group: usize,
        words: impl Into<Cow<'a, [u8]>>,
        scales: impl Into<Cow<'a, [bf16]>>,
        zeros: Option<Cow<'a, [i32]>>,
    ) -> Result<Self, LayoutError> {
        let (words, scales) = (words.into(), scales.into());
        Weights::new((n, k), group, &words, &scales, view(&zeros))?;
        Ok(Self { n, k, group, words, scales, zeros })
    }

    /// The weights.
    #[must_use]
    pub fn view(&self) -> Weights<'_> {
        let view = Weights::new((self.n, self.k), self.group, &self.words, &self.scales, view(&self.zeros));
        view.expect("checked when it was made")
    }
}

fn view<'a>(zeros: &'a Option<Cow<'_, [i32]>>) -> Zeros<'a> {
    zeros.as_deref().map_or(Zeros::Eight, Zeros::Packed)
}
