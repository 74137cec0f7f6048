//! The process that is counted (`xtask instructions-counted`, which `instructions` starts under callgrind): every case once to warm up,
//! so that no memory is allocated any more, and once more to be counted.

use std::hint::black_box;

use anyhow::{Context, Result};
use keepq_act::{ActBuf, ActFormat, ActRows};
use keepq_blocks::{GgmlType, Matrix, encode_row};
use keepq_gemm::{Driver, MatmulError, Scratch, Serial};
use keepq_simd::Tier;

use super::cases::{self, K, N};
use crate::files;
use crate::synth::random::Random;

/// The functions whose calls are counted, as callgrind names them.
pub(super) const FUNCTIONS: [&str; 2] =
    [concat!(module_path!(), "::counted_matmul"), concat!(module_path!(), "::counted_quantize")];

/// Runs every case, and prints them in order as JSON.
pub(crate) fn run() -> Result<()> {
    let mut done = Vec::new();
    for tier in Tier::available() {
        for (case, ty) in cases::multiplications(tier) {
            multiply(tier, ty, case.m)?;
            done.push(case);
        }
    }
    for (case, format) in cases::quantizations() {
        let x = Random::seeded(1).normals(case.m * K, 1.0);
        let mut buffer = ActBuf::new();
        buffer.quantize(format, case.m, K, &x)?;
        counted_quantize(&mut buffer, format, case.m, &x)?;
        done.push(case);
    }
    files::print(&(serde_json::to_string(&done)? + "\n"))
}

fn multiply(tier: Tier, ty: GgmlType, m: usize) -> Result<()> {
    let mut random = Random::seeded(1);
    let mut bytes = vec![0; N * ty.row_bytes(K).context("whole blocks")?];
    encode_row(ty, &random.normals(N * K, 1.0), &mut bytes)?;
    let w = Matrix::new(ty, N, K, &bytes)?;
    let x = random.normals(m * K, 1.0);
    let (mut buffer, mut scratch, mut y) = (ActBuf::new(), Scratch::new(), vec![0.0; m * N]);
    let format = ActFormat::for_weights(ty).unwrap_or(ActFormat::F32);
    let x = buffer.quantize(format, m, K, &x)?;
    let driver = Driver::new(tier, &Serial);
    driver.matmul(x, w, &mut y, &mut scratch)?;
    Ok(counted_matmul(driver, x, w, &mut y, &mut scratch)?)
}

#[inline(never)]
fn counted_matmul(
    driver: Driver<'_>,
    x: ActRows<'_>,
    w: Matrix<'_>,
    y: &mut [f32],
    scratch: &mut Scratch,
) -> Result<(), MatmulError> {
    // Not the last thing that is done, so that the call returns to here.
    black_box(driver.matmul(x, w, y, scratch))
}

#[inline(never)]
fn counted_quantize(buffer: &mut ActBuf, format: ActFormat, m: usize, x: &[f32]) -> Result<()> {
    black_box(buffer.quantize(format, m, K, x)?);
    Ok(())
}
