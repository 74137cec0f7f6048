//! The 4-bit paths of `keepq-tinygemm` in the driver: one entry a path, the same pieces, threads and scratch.

mod four_bit;
mod pair;
mod weight;

use half::bf16;
use keepq_dot::ProductError;
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::{Acts, w4a8, wna16};

pub use four_bit::{FourBit, FourBitWeight};
pub(crate) use pair::{Pair, STRIP};
pub use weight::{W4A16Switches, W4A16Weight};

use crate::operands::Operands;
use crate::scratch::grow;
use crate::{Driver, MatmulError, Scratch};
use pair::{ByCodes, ByFloats};

impl Driver<'_> {
    /// `y[m,n] = x[m,k] · w[n,k]ᵀ` for W4A16 weights, bf16 in and out, f32 in between: rounded once, at the end.
    ///
    /// How many tokens are multiplied by panels and what these are decoded from is said by the weight's [`W4A16Switches`]; the bits do not
    /// depend on it.
    ///
    /// ```
    /// use half::bf16;
    /// use keepq_gemm::{Driver, Scratch, Serial, W4A16Weight};
    /// use keepq_simd::Tier;
    /// use keepq_tinygemm::w4a16::{Layout, Weights, pack};
    ///
    /// let (n, k, group) = (32, 32, 32);
    /// let mut bytes = vec![0; n * k / 2];
    /// let packed = pack(Layout::Avx2, n, k, &vec![9; n * k], &mut bytes)?;
    /// let scales = vec![[bf16::from_f32(0.5), bf16::ZERO]; n]; // k / group = 1 of each row
    /// let w = W4A16Weight::from(Weights::new(packed, group, &scales)?);
    ///
    /// let (x, mut y) = (vec![bf16::ONE; k], vec![bf16::ZERO; n]); // m = 1
    /// Driver::new(Tier::best(), &Serial).matmul_w4a16(1, &x, &w, &mut y, &mut Scratch::new())?;
    /// assert_eq!(y, vec![bf16::from_f32(16.0); n]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MatmulError::WrongInput`] where `x` is not `m * k` elements, [`MatmulError::WrongOutput`] where `y` is not `m * n`; `y` is untouched then.
    pub fn matmul_w4a16(
        &self,
        m: usize,
        x: &[bf16],
        w: &W4A16Weight<'_>,
        y: &mut [bf16],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        check_input(m, w.k(), x.len())?;
        if m.checked_mul(w.n()) != Some(y.len()) {
            return Err(MatmulError::WrongOutput { m, n: w.n(), found: y.len() });
        }
        let mut floats = std::mem::take(&mut scratch.floats);
        let (wide, results) = floats.fit(x.len(), y.len());
        self.tier().widen_bf16(x, wide);
        let result = self.matmul_w4a16_f32(m, wide, w, results, scratch);
        if result.is_ok() {
            self.tier().narrow_bf16(results, y);
        }
        scratch.floats = floats;
        result
    }

    /// [`matmul_w4a16`](Self::matmul_w4a16) before the results are rounded, by activations that need not be bf16.
    ///
    /// # Errors
    /// As [`matmul_w4a16`](Self::matmul_w4a16).
    pub fn matmul_w4a16_f32(
        &self,
        m: usize,
        x: &[f32],
        w: &W4A16Weight<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        self.by_floats(m, x, w.by(m), y, scratch)
    }

    /// `y[m,n] = x[m,k] · w[n,k]ᵀ` for W4A8 weights, by int8 activations.
    ///
    /// # Errors
    /// [`MatmulError::Product`] where `x` has another k, [`MatmulError::WrongOutput`] where `y` is not `m * n` elements; `y` is untouched then.
    pub fn matmul_w4a8(
        &self,
        x: Acts<'_>,
        w: w4a8::Weights<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        self.by_codes(x, ByCodes::W4A8(w), y, scratch)
    }

    /// `y[m,n] = x[m,k] · w[n,k]ᵀ` for per-channel int4 weights, by int8 activations.
    ///
    /// # Errors
    /// As [`matmul_w4a8`](Self::matmul_w4a8).
    pub fn matmul_int4(
        &self,
        x: Acts<'_>,
        w: &QuantizedMatrixQ4,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        self.by_codes(x, ByCodes::Int4(w), y, scratch)
    }

    /// `y[m,n] = x[m,k] · w[n,k]ᵀ` for weights of the fallback, before results are rounded to bf16.
    ///
    /// # Errors
    /// As [`matmul_w4a16`](Self::matmul_w4a16).
    pub fn matmul_wna16(
        &self,
        m: usize,
        x: &[f32],
        w: wna16::Weights<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        self.by_floats(m, x, ByFloats::Wna16(w), y, scratch)
    }

    fn by_floats(
        &self,
        m: usize,
        x: &[f32],
        w: ByFloats<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        check_input(m, w.shape().1, x.len())?;
        self.multiply(Operands::FourBit(Pair::Floats { m, x, w }), y, scratch)
    }

    fn by_codes(&self, x: Acts<'_>, w: ByCodes<'_>, y: &mut [f32], scratch: &mut Scratch) -> Result<(), MatmulError> {
        let (weights, activations) = (w.shape().1, x.k());
        if weights != activations {
            return Err(ProductError::WrongK { weights, activations }.into());
        }
        self.multiply(Operands::FourBit(Pair::Codes { x, w }), y, scratch)
    }
}

/// That `x` is `m * k` elements.
fn check_input(m: usize, k: usize, found: usize) -> Result<(), MatmulError> {
    if m.checked_mul(k) == Some(found) { Ok(()) } else { Err(MatmulError::WrongInput { m, k, found }) }
}

/// Activations and results of 16 bits as floats.
#[derive(Debug, Default)]
pub(crate) struct Floats {
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Floats {
    pub(crate) const fn new() -> Self {
        Self { x: Vec::new(), y: Vec::new() }
    }

    /// Room for so many of each.
    fn fit(&mut self, x: usize, y: usize) -> (&mut [f32], &mut [f32]) {
        grow(&mut self.x, x);
        grow(&mut self.y, y);
        (&mut self.x[..x], &mut self.y[..y])
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.x[..]) + size_of_val(&self.y[..])
    }
}
