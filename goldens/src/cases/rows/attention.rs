//! `rows/attention/<what>`: tiles of queries over blocks of keys and values.

use keepq_blocks::F16;
use keepq_dot::rows::{KvHead, KvLayout, Queries, attention_memory};
use keepq_simd::Tier;

use super::case;
use crate::Case;
use crate::inputs::Random;
use crate::naive::{self, HeadRows, f16_bits};

/// Some tokens' queries over what precedes them and themselves.
#[derive(Clone)]
struct Problem {
    /// The first token's position.
    past: usize,
    tokens: usize,
    /// Query heads of a token.
    heads: usize,
    /// Elements of a head.
    head: usize,
    window: usize,
    scale: f32,
    q: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// Two heads of keys and values a position, of which the second is read.
const KV_HEADS: usize = 2;

impl Problem {
    fn new((past, tokens): (usize, usize), (heads, head): (usize, usize), window: usize) -> Self {
        let mut random = Random::new(541);
        let mut floats = |len: usize| (0..len).map(|_| random.gaussian()).collect::<Vec<f32>>();
        let kv = (past + tokens) * KV_HEADS * head;
        let (q, keys, values) = (floats(tokens * heads * head), floats(kv), floats(kv));
        Self { past, tokens, heads, head, window, scale: 0.3, q, keys, values }
    }

    /// Sets the keys of the head that is read, at some positions, to a number.
    fn with_keys(mut self, positions: std::ops::Range<usize>, key: f32) -> Self {
        let width = KV_HEADS * self.head;
        for row in self.keys[positions.start * width..positions.end * width].chunks_exact_mut(width) {
            row[self.head..].fill(key);
        }
        self
    }

    fn run(&self, tier: Tier) -> Vec<f32> {
        let Self { heads, head, .. } = *self;
        let layout = KvLayout { heads: KV_HEADS, head };
        // What follows the last position is not read.
        let empty = vec![F16::from_f32(f32::NAN); layout.elements(self.past + self.tokens).expect("a small cache")];
        let (mut keys, mut values) = (empty.clone(), empty);
        tier.store_keys(layout, 0, &self.keys, &mut keys);
        tier.store_values(layout, 0, &self.values, &mut values);

        let queries = Queries {
            q: &self.q,
            stride: heads * head,
            tokens: self.tokens,
            heads,
            position: self.past,
            window: self.window,
            scale: self.scale,
        };
        let cache = KvHead { layout, head: 1, keys: &keys, values: &values };
        let mut memory = vec![f32::NAN; attention_memory(head, self.tokens * heads)];
        let mut out = vec![f32::NAN; self.q.len()];
        tier.attention(queries, cache, &mut memory, |i, y| out[i * head..][..head].copy_from_slice(y));
        out
    }

    fn bless(&self) -> Vec<f32> {
        let bits = |x: &[f32]| x.iter().map(|&x| f16_bits(x)).collect::<Vec<u16>>();
        let (keys, values) = (bits(&self.keys), bits(&self.values));
        let rows = HeadRows { keys: &keys, values: &values, stride: KV_HEADS * self.head, offset: self.head };
        let query = |(i, q): (usize, &[f32])| {
            let end = self.past + i / self.heads + 1;
            naive::attention(q, rows, self.scale, end.saturating_sub(self.window)..end)
        };
        self.q.chunks_exact(self.head).enumerate().flat_map(query).collect()
    }
}

pub(super) fn cases() -> Vec<Case> {
    let make = |what: &str, problem: Problem| {
        let naive = problem.clone();
        case("attention", what, move |tier| problem.run(tier), move || naive.bless())
    };
    let all = usize::MAX;
    let mut cases = Vec::new();
    // Around the edges of blocks; heads that are no eights.
    for (past, heads, head) in [(0, 1, 64), (1, 1, 20), (6, 3, 64), (62, 2, 64), (63, 3, 7), (64, 3, 64), (128, 4, 128)]
    {
        cases.push(make(&format!("{heads}x{head}-after-{past}"), Problem::new((past, 1), (heads, head), all)));
    }
    for (past, tokens, heads, head) in [(0, 130, 3, 64), (60, 70, 1, 16), (127, 3, 5, 20), (250, 2, 1, 256)] {
        let problem = Problem::new((past, tokens), (heads, head), all);
        cases.push(make(&format!("{tokens}-tokens-of-{heads}x{head}-after-{past}"), problem));
    }
    for (past, tokens, heads, window) in
        [(200, 1, 3, 1), (0, 140, 2, 37), (61, 70, 1, 64), (100, 40, 4, 65), (300, 5, 3, 129)]
    {
        let problem = Problem::new((past, tokens), (heads, 24), window);
        cases.push(make(&format!("window-of-{window}-for-{tokens}-tokens-of-{heads}-after-{past}"), problem));
    }
    let few = || Problem::new((150, 6), (3, 16), all);
    cases.push(make("far-apart", Problem { scale: 60.0, ..few() }));
    // Only the sign of a query's sum says which infinity its scores are; q is positive here.
    let positive = || {
        let problem = few();
        Problem { q: problem.q.iter().map(|q| q.abs()).collect(), ..problem }
    };
    let infinite = f32::NEG_INFINITY;
    cases.push(make("first-block-without-weight", positive().with_keys(0..64, infinite)));
    cases.push(make("nothing-with-weight", positive().with_keys(0..156, infinite)));
    cases.push(make("infinite-score", positive().with_keys(70..71, f32::INFINITY)));
    cases.push(make("nan-in-a-later-position", few().with_keys(153..154, f32::NAN)));
    cases.push(make("nan-outside-of-the-window", Problem { window: 64, ..few() }.with_keys(0..90, f32::NAN)));
    cases
}
