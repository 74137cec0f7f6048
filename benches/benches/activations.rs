//! `x[m,k]` to the blocks that quantized weights meet: once a matrix and token, before any multiplication.
//!
//! What to look at is the throughput in elements: beside that of a multiplication by n rows it is to be small.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keepq_act::{ActBuf, ActFormat};
use keepq_benches::{floats, short};

const K: usize = 4096;

fn quantize(c: &mut Criterion) {
    for format in [ActFormat::Q8_0, ActFormat::Q8_K] {
        let mut group = c.benchmark_group(format!("quantize/{format:?}"));
        for m in [1, 128] {
            let (x, mut buffer) = (floats(m * K), ActBuf::new());
            group.throughput(Throughput::Elements((m * K) as u64));
            group.bench_function(BenchmarkId::from_parameter(format!("m{m}")), |bencher| {
                bencher.iter(|| buffer.quantize(format, m, K, &x).expect("whole blocks").m());
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = short();
    targets = quantize
}
criterion_main!(benches);
