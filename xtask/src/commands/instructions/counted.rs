//! The process that is counted (`xtask instructions-counted`, which `instructions` starts under callgrind): every case once to warm up,
//! so that no memory is allocated any more, and once more to be counted.

use std::hint::black_box;

use anyhow::{Context, Result};
use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{GgmlType, Matrix, encode_row};
use keepq_gemm::{Driver, Scratch, Serial};
use keepq_simd::Tier;

use super::cases::{self, K, N};
use crate::files;
use crate::synth::random::Random;

/// The function whose calls are counted, as callgrind names it.
pub(super) const FUNCTION: &str = concat!(module_path!(), "::counted");

/// Runs every case, and prints them in order as JSON.
pub(crate) fn run() -> Result<()> {
    let mut done = Vec::new();
    for tier in Tier::available() {
        for (case, ty) in cases::multiplications(tier) {
            multiply(tier, ty, case.m)?;
            done.push(case);
        }
        for (case, format) in cases::quantizations(tier) {
            let x = Random::seeded(1).normals(case.m * K, 1.0);
            let mut buffer = ActBuf::new();
            tier.quantize(&mut buffer, format, case.m, K, &x)?;
            counted(&mut || {
                tier.quantize(&mut buffer, format, case.m, K, &x)?;
                Ok(())
            })?;
            done.push(case);
        }
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
    counted(&mut || Ok(driver.matmul(x, w, &mut y, &mut scratch)?))
}

/// The one function whose calls are counted: callgrind does not begin anew before a second one.
#[inline(never)]
fn counted(call: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    // Not the last thing that is done, so that the call returns to here.
    black_box(call())
}
