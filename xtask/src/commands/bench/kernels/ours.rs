//! [`Ours`]: this project's side of a row.

use anyhow::{Context, Result, anyhow};
use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_dot::Interleaved;
use keepq_gemm::{Driver, Executor, Residency, Scratch, Weight};
use keepq_simd::Tier;

use super::case::Case;
use super::operands::Operands;

/// Bytes of a cache line: every copy of the weights begins on one.
const LINE: usize = 64;

/// Our side of a case.
pub(super) trait Multiply {
    /// How often one [`multiply`](Self::multiply) multiplies.
    fn copies(&self) -> usize;

    /// Multiplies the tokens by every copy of the weights, quantizing them anew each time.
    fn multiply(&mut self) -> Result<()>;

    /// `y[m,n]`, as multiplied last.
    fn output(&self) -> Vec<f32>;
}

/// The driver, with weights where a mapped file would have them, or interleaved copies.
pub(super) struct Ours<'e> {
    case: Case,
    driver: Driver<'e>,
    memory: Vec<u8>,
    /// In place of those in memory, where they are asked for and the type has them.
    interleaved: Vec<Weight<'e>>,
    x: Vec<f32>,
    copies: usize,
    format: ActFormat,
    acts: ActBuf,
    scratch: Scratch,
    y: Vec<f32>,
}

impl<'e> Ours<'e> {
    pub(super) fn new(
        case: Case,
        operands: &'e Operands,
        tier: Tier,
        executor: &'e dyn Executor,
        interleave: bool,
    ) -> Result<Self> {
        let &Operands { ref weights, copies, .. } = operands;
        let ty = case.ty.blocks()?;
        if interleave && Interleaved::supports(ty) {
            let copy = || Ok(Weight::new(Matrix::new(ty, case.n, case.k, weights)?, Residency::Interleave)?);
            let interleaved = (0..copies).map(|_| copy()).collect::<Result<_>>()?;
            return Self::with(case, Vec::new(), interleaved, operands, Driver::new(tier, executor));
        }
        let stride = weights.len().next_multiple_of(LINE);
        let mut memory = vec![0; stride * copies + LINE];
        let start = memory.as_ptr().align_offset(LINE);
        for place in memory[start..].chunks_exact_mut(stride).take(copies) {
            place[..weights.len()].copy_from_slice(weights);
        }
        Self::with(case, memory, Vec::new(), operands, Driver::new(tier, executor))
    }

    fn with(
        case: Case,
        memory: Vec<u8>,
        interleaved: Vec<Weight<'e>>,
        operands: &Operands,
        driver: Driver<'e>,
    ) -> Result<Self> {
        let ty = case.ty.blocks()?;
        Ok(Self {
            case,
            driver,
            memory,
            interleaved,
            x: operands.x.clone(),
            copies: operands.copies,
            format: ActFormat::for_weights(ty).with_context(|| format!("{ty}: no kernel"))?,
            acts: ActBuf::new(),
            scratch: Scratch::new(),
            y: vec![0.0; case.m * case.n],
        })
    }
}

impl Multiply for Ours<'_> {
    fn copies(&self) -> usize {
        self.copies
    }

    fn multiply(&mut self) -> Result<()> {
        let Self { case, driver, memory, interleaved, x, copies, format, acts, scratch, y } = self;
        let &mut Case { ty, n, k, m, .. } = case;
        let ty = ty.blocks()?;
        let bytes = case.weight_bytes().context("whole blocks")?;
        let start = memory.as_ptr().align_offset(LINE).min(memory.len());
        let mut result = Ok(());
        // Inside the pool, as a whole forward pass is.
        driver.executor().enter(&mut || {
            if !interleaved.is_empty() {
                let multiply = |weight: &Weight<'_>| weight.matmul(driver, &mut acts.share(m, k, x), y, scratch);
                result = interleaved.iter().try_for_each(multiply).map_err(|error| anyhow!(error));
                return;
            }
            result = memory[start..].chunks_exact(bytes.next_multiple_of(LINE)).take(*copies).try_for_each(|place| {
                let w = Matrix::new(ty, n, k, &place[..bytes])?;
                let x = acts.quantize_by(*format, m, k, x, |encoding| driver.encode(encoding))?;
                driver.matmul(x, w, y, scratch).map_err(|error| anyhow!(error))
            });
        });
        result
    }

    fn output(&self) -> Vec<f32> {
        self.y.clone()
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;
    use keepq_gemm::Serial;

    use super::*;

    #[test]
    fn interleaved_copies_give_the_same() {
        let case = Case { ty: GgmlType::Q4_1.into(), n: 11, k: 64, m: 2, threads: 1 };
        let operands = Operands { copies: 2, ..Operands::of(&case).expect("whole blocks") };
        let [kept, interleaved] = [false, true].map(|interleave| {
            let mut ours = Ours::new(case, &operands, Tier::best(), &Serial, interleave).expect("a kernel");
            ours.multiply().expect("shapes that fit");
            assert_eq!(ours.interleaved.len(), if interleave { 2 } else { 0 });
            ours.output()
        });
        assert_eq!(kept, interleaved);
    }

    #[test]
    fn every_copy_is_multiplied_and_each_token_has_its_row() {
        let case = Case { ty: GgmlType::F32.into(), n: 3, k: 5, m: 2, threads: 1 };
        let operands = Operands { copies: 3, ..Operands::of(&case).expect("whole blocks") };
        let mut ours = Ours::new(case, &operands, Tier::best(), &Serial, false).expect("a kernel");
        ours.multiply().expect("shapes that fit");
        assert_eq!(ours.copies(), 3);

        let Operands { weights, x, .. } = &operands;
        let w: Vec<_> = weights.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
        for (t, y) in ours.output().chunks_exact(3).enumerate() {
            for (row, y) in y.iter().enumerate() {
                let wanted: f64 = (0..5).map(|i| f64::from(x[t * 5 + i]) * w[row * 5 + i]).sum();
                assert!((f64::from(*y) - wanted).abs() < 1e-6, "{y} {wanted}");
            }
        }
    }
}
