//! [`Ours`]: this project's side of a row.

use anyhow::{Context, Result, anyhow};
use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_gemm::{Driver, Executor, Scratch};
use keepq_simd::Tier;

use super::case::Case;
use super::operands::Operands;

/// Bytes of a cache line: every copy of the weights begins on one.
const LINE: usize = 64;

/// The driver, with weights where a mapped file would have them.
pub(super) struct Ours<'e> {
    case: Case,
    driver: Driver<'e>,
    memory: Vec<u8>,
    x: Vec<f32>,
    copies: usize,
    format: ActFormat,
    acts: ActBuf,
    scratch: Scratch,
    y: Vec<f32>,
}

impl<'e> Ours<'e> {
    pub(super) fn new(case: Case, operands: &Operands, tier: Tier, executor: &'e dyn Executor) -> Result<Self> {
        let &Operands { ref weights, ref x, copies, .. } = operands;
        let stride = weights.len().next_multiple_of(LINE);
        let mut memory = vec![0; stride * copies + LINE];
        let start = memory.as_ptr().align_offset(LINE);
        for place in memory[start..].chunks_exact_mut(stride).take(copies) {
            place[..weights.len()].copy_from_slice(weights);
        }
        Ok(Self {
            case,
            driver: Driver::new(tier, executor),
            memory,
            x: x.clone(),
            copies,
            format: ActFormat::for_weights(case.ty).with_context(|| format!("{}: no kernel", case.ty))?,
            acts: ActBuf::new(),
            scratch: Scratch::new(),
            y: vec![0.0; case.m * case.n],
        })
    }

    /// How often one [`multiply`](Self::multiply) multiplies.
    pub(super) const fn copies(&self) -> usize {
        self.copies
    }

    /// Multiplies the tokens by every copy of the weights, quantizing them anew each time.
    pub(super) fn multiply(&mut self) -> Result<()> {
        let Self { case, driver, memory, x, copies, format, acts, scratch, y } = self;
        let &mut Case { ty, n, k, m, .. } = case;
        let bytes = case.weight_bytes().context("whole blocks")?;
        let start = memory.as_ptr().align_offset(LINE);
        let mut result = Ok(());
        // Inside the pool, as a whole forward pass is.
        driver.executor().enter(&mut || {
            result = memory[start..].chunks_exact(bytes.next_multiple_of(LINE)).take(*copies).try_for_each(|place| {
                let w = Matrix::new(ty, n, k, &place[..bytes])?;
                let x = acts.quantize_by(*format, m, k, x, |encoding| driver.encode(encoding))?;
                driver.matmul(x, w, y, scratch).map_err(|error| anyhow!(error))
            });
        });
        result
    }

    /// `y[m,n]`, as multiplied last.
    pub(super) fn output(&self) -> &[f32] {
        &self.y
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;
    use keepq_gemm::Serial;

    use super::*;

    #[test]
    fn every_copy_is_multiplied_and_each_token_has_its_row() {
        let case = Case { ty: GgmlType::F32, n: 3, k: 5, m: 2, threads: 1 };
        let operands = Operands { copies: 3, ..Operands::of(&case).expect("whole blocks") };
        let mut ours = Ours::new(case, &operands, Tier::best(), &Serial).expect("a kernel");
        ours.multiply().expect("shapes that fit");
        assert_eq!(ours.copies(), 3);

        let Operands { weights, x, .. } = operands;
        let w: Vec<_> = weights.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
        for (t, y) in ours.output().chunks_exact(3).enumerate() {
            for (row, y) in y.iter().enumerate() {
                let wanted: f64 = (0..5).map(|i| f64::from(x[t * 5 + i]) * w[row * 5 + i]).sum();
                assert!((f64::from(*y) - wanted).abs() < 1e-6, "{y} {wanted}");
            }
        }
    }
}
