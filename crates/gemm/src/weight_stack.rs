//! [`WeightStack`]: the slices of a stack as they are resident.

use keepq_act::SharedActs;
use keepq_blocks::Matrix;

use crate::indexed::{StackShape, common_shape};
use crate::{Driver, MatmulError, Reason, Residency, Route, Scratch, StackError, Weight};

/// A stack of weights, one slice an expert, as it is resident: for the slices what [`Weight`] is for a matrix.
///
/// Kept, it is a few words a slice; no byte of the weights is read before a route leads there.
#[derive(Clone, Debug)]
pub struct WeightStack<'a> {
    shape: StackShape,
    slices: Vec<Weight<'a>>,
}

impl<'a> WeightStack<'a> {
    /// Holds each of `slices` as `residency` says. Only expansion allocates for weights: `2 * n * k` bytes a slice.
    ///
    /// # Errors
    /// [`StackError`] where there is no slice, slices have different shapes, or one has a type that cannot be multiplied
    /// in place and [`Residency::Strict`] allows nothing else.
    pub fn new(slices: &[Matrix<'a>], residency: Residency) -> Result<Self, StackError> {
        let (n, k) = common_shape(slices)?;
        let hold = |(slice, matrix): (usize, &Matrix<'a>)| {
            Weight::new(*matrix, residency).map_err(|_| StackError::NoKernel { slice, ty: matrix.ty() })
        };
        let shape = StackShape { slices: slices.len(), n, k };
        Ok(Self { shape, slices: slices.iter().enumerate().map(hold).collect::<Result<_, _>>()? })
    }

    /// Output features of each slice.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.shape.n
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.shape.k
    }

    /// Slices: one at least.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "no stack is empty")]
    pub const fn len(&self) -> usize {
        self.shape.slices
    }

    /// Bytes that this stack owns, beyond the file's own, and why; `None` where all slices are kept.
    #[must_use]
    pub fn expansion(&self) -> Option<(usize, Reason)> {
        // One residency, one reason: the others' slices are kept.
        self.slices.iter().filter_map(Weight::expansion).reduce(|(all, reason), (bytes, _)| (all + bytes, reason))
    }

    /// `y[i] = x[routes[i].row] · slices[routes[i].slice]ᵀ` by the kernels of this residency.
    ///
    /// # Errors
    /// As [`Driver::matmul_indexed`].
    pub fn matmul_indexed(
        &self,
        driver: &Driver<'_>,
        x: &mut SharedActs<'_>,
        routes: &[Route],
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        // Of the reference only floats, which are kept, have no tier of their own. Bits do not depend on it.
        let tier = self.slices.iter().find_map(Weight::tier).unwrap_or(driver.tier());
        let driver = Driver::new(tier, driver.executor());
        driver.indexed(x, self.shape, |slice| self.slices[slice].view(), routes, y, scratch)
    }
}
