//! [`Driver::matmul_indexed`]: each row by a slice of its own, as mixtures of experts need.

use keepq_act::SharedActs;
use keepq_blocks::Matrix;
use keepq_dot::ProductError;

use crate::operands::Weights;
use crate::pieces::Output;
use crate::{Driver, MatmulError, Scratch, StackError};

/// One row of an indexed product: which row of `x` meets which slice of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The row of `x`: a token.
    pub row: u32,
    /// The slice of the stack: an expert.
    pub slice: u32,
}

impl Driver<'_> {
    /// `y[i] = x[routes[i].row] · stack[routes[i].slice]ᵀ`: `y[routes,n]`, `x[m,k]`, and a stack of slices `w[n,k]`.
    ///
    /// The slices are those of a 3-D tensor, or matrices from anywhere, each of a type of its own. Only slices that a
    /// route leads to are read; all routes to one are multiplied together, in whatever order they come. The activations
    /// are quantized once for each format that these slices are multiplied by. The bits are those of
    /// [`matmul`](Self::matmul) of the row and the slice alone.
    ///
    /// ```
    /// use keepq_act::ActBuf;
    /// use keepq_blocks::{GgmlType, Matrix, encode_row};
    /// use keepq_gemm::{Driver, Route, Scratch, Serial};
    /// use keepq_simd::Tier;
    ///
    /// // Two experts of n = 1, k = 32; and two tokens, of which the first goes to both.
    /// let (mut ones, mut twos) = ([0; 34], [0; 64]);
    /// encode_row(GgmlType::Q8_0, &[1.0; 32], &mut ones)?;
    /// encode_row(GgmlType::F16, &[2.0; 32], &mut twos)?;
    /// let stack = [Matrix::new(GgmlType::Q8_0, 1, 32, &ones)?, Matrix::new(GgmlType::F16, 1, 32, &twos)?];
    /// let x = [[1.0; 32], [-1.0; 32]].concat();
    /// let routes = [Route { row: 0, slice: 1 }, Route { row: 0, slice: 0 }, Route { row: 1, slice: 1 }];
    ///
    /// let (mut buffer, mut scratch, mut y) = (ActBuf::new(), Scratch::new(), [0.0; 3]);
    /// let mut x = buffer.share(2, 32, &x);
    /// Driver::new(Tier::best(), &Serial).matmul_indexed(&mut x, &stack, &routes, &mut y, &mut scratch)?;
    /// assert!((y[0] - 64.0).abs() < 0.1 && (y[1] - 32.0).abs() < 0.1 && (y[2] + 64.0).abs() < 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MatmulError`] where the stack is empty, its slices have different shapes or a route leads to one that has no
    /// kernel, `x` and the slices do not fit each other, a route names a row or slice that is not there, or `y` is not
    /// `routes.len() * n` elements; `y` is untouched then.
    pub fn matmul_indexed(
        &self,
        x: &mut SharedActs<'_>,
        stack: &[Matrix<'_>],
        routes: &[Route],
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let (n, k) = common_shape(stack)?;
        let shape = StackShape { slices: stack.len(), n, k };
        self.indexed(x, shape, |slice| Weights::Nk(stack[slice]), routes, y, scratch)
    }

    /// [`matmul_indexed`](Self::matmul_indexed) by slices in either orientation, all of the same shape.
    pub(crate) fn indexed<'w>(
        &self,
        x: &mut SharedActs<'_>,
        shape: StackShape,
        weights: impl Fn(usize) -> Weights<'w> + Sync,
        routes: &[Route],
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let StackShape { slices, n, k } = shape;
        if x.k() != k {
            return Err(ProductError::WrongK { weights: k, activations: x.k() }.into());
        }
        let routed = scratch.routing.route(self, x, slices, &weights, routes)?;
        let output = Output { shape: (routes.len(), n, k), tier: self.tier(), y };
        self.run([output], |_| routed.jobs(&weights), &mut scratch.workers)
    }
}

/// A stack's number of slices, and the shape that each of them has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackShape {
    pub(crate) slices: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// n and k of all slices.
pub(crate) fn common_shape(slices: &[Matrix<'_>]) -> Result<(usize, usize), StackError> {
    let expected = slices.first().map(|first| (first.n(), first.k())).ok_or(StackError::Empty)?;
    for (slice, found) in slices.iter().map(|slice| (slice.n(), slice.k())).enumerate() {
        if found != expected {
            return Err(StackError::Shape { slice, expected, found });
        }
    }
    Ok(expected)
}
