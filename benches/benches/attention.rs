//! One query head over cached keys and values, tier by tier, at lengths before and beyond what L2 holds.
//!
//! What to look at is the throughput in elements of keys and values.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keepq_benches::{floats, short};
use keepq_blocks::F16;
use keepq_dot::rows::HeadCache;
use keepq_simd::Tier;

/// Elements of a head.
const HEAD: usize = 128;

/// Heads of keys and values, which lie side by side.
const HEADS: usize = 4;

const POSITIONS: [usize; 2] = [128, 2048];

fn attention(c: &mut Criterion) {
    let stride = HEADS * HEAD;
    let q = floats(HEAD);
    for tier in Tier::available() {
        let mut group = c.benchmark_group(format!("attention/{tier}"));
        for positions in POSITIONS {
            let cached: Vec<F16> = floats(positions * stride).into_iter().map(F16::from_f32).collect();
            let cache = HeadCache { keys: &cached, values: &cached, stride, offset: HEAD };
            let (mut scores, mut out) = (vec![0.0; positions], vec![0.0; HEAD]);
            group.throughput(Throughput::Elements((2 * positions * HEAD) as u64));
            group.bench_function(BenchmarkId::from_parameter(format!("t{positions}")), |bencher| {
                bencher.iter(|| tier.attention(&q, cache, 0.088, &mut scores, &mut out));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = short();
    targets = attention
}
criterion_main!(benches);
