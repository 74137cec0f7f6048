//! `y[m,n] = x[m,k] · w[n,k]ᵀ`, activation quantization included: type by tier by m, one thread.
//!
//! What to look at is the throughput: it must rise with m, since blocks are decoded once for many tokens.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keepq_act::{ActBuf, ActFormat, ActRows};
use keepq_benches::{floats, short, weights, weights_kn};
use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::kn::KnMatrix;
use keepq_gemm::{Driver, Scratch, Serial};
use keepq_simd::Tier;

/// 2 Mi weights: 1.25 MB as Q4_1, which L2 seldom holds.
const N: usize = 1024;
const K: usize = 2048;

const TOKENS: [usize; 3] = [1, 8, 128];

/// Float weights on the portable tier have no fused hardware and take seconds: they are run up to so many tokens.
const PORTABLE_FLOAT_TOKENS: usize = 8;

fn matmul(c: &mut Criterion) {
    // All that have kernels.
    for &ty in GgmlType::ALL.iter().filter(|&&ty| ActFormat::for_weights(ty).is_some()) {
        let bytes = weights(ty, N, K);
        let w = Matrix::new(ty, N, K, &bytes).expect("a matrix");
        let format = ActFormat::for_weights(ty).expect("a kernel");
        let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
        each(c, ty.name(), format == ActFormat::F32, |driver, m, x, y| {
            let x = driver.tier().quantize(&mut buffer, format, m, K, x).expect("whole blocks");
            driver.matmul(x, w, y, &mut scratch).expect("shapes that fit");
        });
    }
    let elements = weights_kn(N, K);
    let w = KnMatrix::new(N, K, &elements).expect("a matrix");
    let mut scratch = Scratch::new();
    each(c, "BF16-kn", true, |driver, m, x, y| {
        let x = ActRows::f32(m, K, x).expect("m rows of k");
        driver.matmul_kn(x, w, y, &mut scratch).expect("shapes that fit");
    });
}

fn each(c: &mut Criterion, name: &str, float: bool, mut run: impl FnMut(Driver<'_>, usize, &[f32], &mut [f32])) {
    for tier in Tier::available() {
        let mut group = c.benchmark_group(format!("{name}/{tier}"));
        let most = if float && tier == Tier::PORTABLE { PORTABLE_FLOAT_TOKENS } else { usize::MAX };
        for m in TOKENS.into_iter().filter(|&m| m <= most) {
            let (x, mut y) = (floats(m * K), vec![0.0; m * N]);
            group.throughput(Throughput::Elements((m * N * K) as u64));
            group.bench_function(BenchmarkId::from_parameter(format!("m{m}")), |bencher| {
                bencher.iter(|| run(Driver::new(tier, &Serial), m, &x, &mut y));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = short();
    targets = matmul
}
criterion_main!(benches);
