//! [`Driver::matmul_many`]: several weights by the same activations, in one run.

use std::iter;

use keepq_act::SharedActs;
use keepq_dot::ProductError;

use crate::operands::{Job, Operands};
use crate::pieces::Output;
use crate::{Driver, MatmulError, Scratch, Weight};

impl Driver<'_> {
    /// `y = x[m,k] · wᵀ` for each pair of weights and `y`, which is `m` times their `n` elements: [`Weight::matmul`] of one after
    /// the other, in one run of the executor. Weights may be of any types, residencies and `n`.
    ///
    /// Threads wait for each other once, not once for each of the weights: small ones, such as those of keys and values, are
    /// shared as one piece of work. The activations are quantized once for each format, and the bits are those of the single
    /// products.
    ///
    /// ```
    /// use keepq_act::ActBuf;
    /// use keepq_blocks::{GgmlType, Matrix, encode_row};
    /// use keepq_gemm::{Driver, Residency, Scratch, Serial, Weight};
    /// use keepq_simd::Tier;
    ///
    /// // Gate and up of a block: n = 1 and 2, k = 32.
    /// let (mut gate, mut up) = ([0; 34], [0; 128]);
    /// encode_row(GgmlType::Q8_0, &[1.0; 32], &mut gate)?;
    /// encode_row(GgmlType::F16, &[2.0; 64], &mut up)?;
    /// let gate = Weight::new(Matrix::new(GgmlType::Q8_0, 1, 32, &gate)?, Residency::Keep)?;
    /// let up = Weight::new(Matrix::new(GgmlType::F16, 2, 32, &up)?, Residency::Keep)?;
    ///
    /// let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
    /// let mut x = buffer.share(1, 32, &[0.5; 32]);
    /// let (mut y, mut z) = ([0.0; 1], [0.0; 2]);
    /// Driver::new(Tier::best(), &Serial).matmul_many(&mut x, [(&gate, &mut y), (&up, &mut z)], &mut scratch)?;
    /// assert!((y[0] - 16.0).abs() < 0.1 && z == [32.0; 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MatmulError`] where `x` and any of the weights do not fit each other or any `y` is not `m * n` elements; all are untouched
    /// then.
    pub fn matmul_many<const N: usize>(
        &self,
        x: &mut SharedActs<'_>,
        products: [(&Weight<'_>, &mut [f32]); N],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let mut formats = [None; N];
        for (format, (weight, _)) in formats.iter_mut().zip(&products) {
            let weights = weight.view();
            let wanted = weights.format().ok_or(ProductError::NoKernel { ty: weights.ty() })?;
            x.rows_by(wanted, |encoding| self.encode(encoding))?;
            *format = Some(wanted);
        }
        let mut operands: [Option<Operands<'_>>; N] = [None; N];
        for ((operands, format), (weight, _)) in operands.iter_mut().zip(formats).zip(&products) {
            let rows = format.and_then(|format| x.held(format)).expect("quantized above");
            *operands = Some(weight.view().by(rows)?);
        }
        let operands = operands.map(|operands| operands.expect("one for each of the weights"));
        let mut i = 0;
        let outputs = products.map(|(weight, y)| {
            let operands = &operands[i];
            i += 1;
            let shape = (operands.m(), operands.n(), operands.k());
            Output { shape, tier: weight.tier().unwrap_or(self.tier()), y }
        });
        self.run(outputs, |i| iter::once(Job::all(operands[i])), &mut scratch.workers)
    }
}
