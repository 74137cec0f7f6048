//! Queries over one head of cached keys and values, tier by tier: one token's after a short and a long context, and the last
//! tile of a long prompt.
//!
//! What to look at is the throughput in multiply-adds: two for each query, position seen and element of a head.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keepq_benches::{floats, short};
use keepq_blocks::F16;
use keepq_dot::rows::{KvHead, KvLayout, Queries, attention_memory, tokens_together};
use keepq_simd::Tier;

/// Heads of keys and values.
const KV_HEADS: usize = 4;

/// Elements of a head, and query heads that read the same keys.
const HEADS: [(usize, usize); 3] = [(64, 1), (64, 3), (128, 4)];

/// Positions.
const POSITIONS: [usize; 2] = [128, 512];

fn attention(c: &mut Criterion) {
    for tier in Tier::available() {
        let mut group = c.benchmark_group(format!("attention/{tier}"));
        for ((head, heads), positions) in HEADS.into_iter().flat_map(|heads| POSITIONS.map(|count| (heads, count))) {
            let layout = KvLayout { heads: KV_HEADS, head };
            let elements = layout.elements(positions).expect("a small cache");
            let (mut keys, mut values) = (vec![F16::default(); elements], vec![F16::default(); elements]);
            let rows = floats(positions * KV_HEADS * head);
            tier.store_keys(layout, 0, &rows, &mut keys);
            tier.store_values(layout, 0, &rows, &mut values);
            let cache = KvHead { layout, head: 1, keys: &keys, values: &values };
            for tokens in [1, tokens_together(heads)] {
                let q = floats(tokens * heads * head);
                let (position, stride, window) = (positions - tokens, heads * head, usize::MAX);
                let queries = Queries { q: &q, stride, tokens, heads, position, window, scale: 0.125 };
                let seen: usize = (0..tokens).map(|t| position + t + 1).sum();
                let mut memory = vec![0.0; attention_memory(head, tokens * heads)];
                let mut out = vec![0.0; q.len()];
                group.throughput(Throughput::Elements((2 * seen * heads * head) as u64));
                let name = format!("{tokens}-tokens-of-{heads}x{head}-at-{positions}");
                group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                    bencher.iter(|| {
                        tier.attention(queries, cache, &mut memory, |i, y| out[i * head..][..head].copy_from_slice(y));
                    });
                });
            }
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
