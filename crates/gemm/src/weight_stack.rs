//! [`WeightStack`]: the slices of a stack as they are resident.

use keepq_act::SharedActs;
use keepq_blocks::Matrix;
use keepq_dot::ProductError;
use keepq_simd::Tier;

use crate::indexed::{StackShape, common_shape};
use crate::{Driver, MatmulError, Reason, Residency, Route, Scratch, StackError, Weight};

/// A stack of weights, one slice an expert, as it is resident: for the slices what [`Weight`] is for a matrix.
///
/// Kept, it is a few words a slice, and no byte of a slice is read before a route leads there.
///
/// ```
/// use keepq_act::ActBuf;
/// use keepq_blocks::{GgmlType, Matrix, encode_row};
/// use keepq_gemm::{Driver, Residency, Route, Scratch, Serial, WeightStack};
/// use keepq_simd::Tier;
///
/// let mut bytes = [0; 2 * 2 * 18]; // w: two experts of n = 2, k = 32
/// encode_row(GgmlType::Q4_0, &[1.0; 128], &mut bytes)?;
/// let expert = |i: usize| Matrix::new(GgmlType::Q4_0, 2, 32, &bytes[i * 36..(i + 1) * 36]);
/// let stack = WeightStack::new(&[expert(0)?, expert(1)?], Residency::Keep)?;
/// assert_eq!((stack.len(), stack.n(), stack.k(), stack.expansion()), (2, 2, 32, None));
///
/// let (mut buffer, mut scratch, mut y) = (ActBuf::new(), Scratch::new(), [0.0; 2]);
/// let mut x = buffer.share(1, 32, &[0.5; 32]);
/// let driver = Driver::new(Tier::best(), &Serial);
/// stack.matmul_indexed(&driver, &mut x, &[Route { row: 0, slice: 1 }], &mut y, &mut scratch)?;
/// assert!(y.iter().all(|v| (v - 16.0).abs() < 0.1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct WeightStack<'a> {
    shape: StackShape,
    slices: Vec<Weight<'a>>,
    /// The tier whose kernels run, whatever the driver's is.
    tier: Option<Tier>,
}

impl<'a> WeightStack<'a> {
    /// Holds each of `slices` as `residency` says. Only copies allocate for weights, for each slice as for a [`Weight`].
    ///
    /// # Errors
    /// [`StackError`] where there is no slice, slices have different shapes, or one has a type that cannot be multiplied
    /// in place and [`Residency::Strict`] allows nothing else, or there is no memory for a copy.
    pub fn new(slices: &[Matrix<'a>], residency: Residency) -> Result<Self, StackError> {
        let (n, k) = common_shape(slices)?;
        let hold = |(slice, matrix): (usize, &Matrix<'a>)| {
            Weight::new(*matrix, residency).map_err(|error| match error {
                ProductError::NoMemory { bytes } => StackError::NoMemory { slice, bytes },
                _ => StackError::NoKernel { slice, ty: matrix.ty() },
            })
        };
        let held = slices.iter().enumerate().map(hold).collect::<Result<Vec<_>, _>>()?;
        // The reference keeps floats, which have no tier of their own. Beside expanded slices they share theirs.
        let tier = held.iter().find_map(Weight::tier);
        Ok(Self { shape: StackShape { slices: slices.len(), n, k }, slices: held, tier })
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
        let driver = Driver::new(self.tier.unwrap_or(driver.tier()), driver.executor());
        driver.indexed(x, self.shape, |slice| self.slices[slice].view(), routes, y, scratch)
    }
}
