//! Attention: near the truth, and each query's bits its own, whoever shares its tile.

use keepq_blocks::F16;
use keepq_dot::Portable;
use keepq_dot::rows::{KvHead, KvLayout, Queries, attention, attention_memory};
use keepq_goldens::inputs::Random;

/// A sequence of tokens, one head of keys and values, `heads` query heads.
struct Sequence {
    len: usize,
    heads: usize,
    head: usize,
    window: usize,
    scale: f32,
    q: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Sequence {
    fn new(len: usize, heads: usize, head: usize, window: usize) -> Self {
        let mut random = Random::new(7);
        let mut floats = |len: usize| (0..len).map(|_| random.gaussian()).collect::<Vec<f32>>();
        let q = floats(len * heads * head);
        // Numbers that binary16 holds.
        let [keys, values] = [floats(len * head), floats(len * head)]
            .map(|x| x.iter().map(|&x| F16::from_f32(x).to_f32()).collect::<Vec<f32>>());
        Self { len, heads, head, window, scale: 0.4, q, keys, values }
    }

    /// The results of the tokens `first..first + tokens`, before whom the others were stored.
    fn attended(&self, first: usize, tokens: usize) -> Vec<f32> {
        let layout = KvLayout { heads: 1, head: self.head };
        let seen = (first + tokens) * self.head;
        let empty = vec![F16::from_f32(f32::NAN); layout.elements(first + tokens).unwrap()];
        let (mut keys, mut values) = (empty.clone(), empty);
        layout.store_keys(Portable, 0, &self.keys[..seen], &mut keys);
        layout.store_values(Portable, 0, &self.values[..seen], &mut values);
        let stride = self.heads * self.head;
        let queries = Queries {
            q: &self.q[first * stride..],
            stride,
            tokens,
            heads: self.heads,
            position: first,
            window: self.window,
            scale: self.scale,
        };
        let mut memory = vec![f32::NAN; attention_memory(self.head, tokens * self.heads)];
        let mut out = Vec::new();
        let cache = KvHead { layout, head: 0, keys: &keys, values: &values };
        attention(Portable, queries, cache, &mut memory, |i, y| {
            assert_eq!(i, out.len() / self.head);
            out.extend_from_slice(y);
        });
        out
    }

    /// Everything, so many tokens at a time.
    fn in_pieces(&self, tokens: usize) -> Vec<u32> {
        let piece = |first| self.attended(first, tokens.min(self.len - first));
        (0..self.len).step_by(tokens).flat_map(piece).map(f32::to_bits).collect()
    }
}

#[test]
fn bits_do_not_depend_on_who_shares_a_tile() {
    for (heads, head) in [(1, 20), (3, 16), (5, 7)] {
        for window in [1, 2, 7, 8, 37, 63, 64, 65, 100, usize::MAX] {
            let sequence = Sequence::new(133, heads, head, window);
            let alone = sequence.in_pieces(1);
            assert_eq!(alone.len(), 133 * heads * head);
            for tokens in [2, 5, 21, 64, 133] {
                assert!(sequence.in_pieces(tokens) == alone, "{heads} x {head}, window {window}, {tokens} tokens");
            }
        }
    }
}

/// The truth of a query, and how far rounding may lead away from it.
fn reference(sequence: &Sequence, token: usize, q: &[f32]) -> Vec<(f64, f64)> {
    const UNIT: f64 = 1.0 / 16_777_216.0;
    let head = sequence.head;
    let end = token + 1;
    let seen = end.saturating_sub(sequence.window)..end;
    let row = |x: &[f32], t: usize| x[t * head..][..head].iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let scale = f64::from(sequence.scale);
    let product = |t: usize, f: fn(f64) -> f64| {
        q.iter().zip(row(&sequence.keys, t)).map(|(&q, k)| f(f64::from(q) * k * scale)).sum::<f64>()
    };
    let scores: Vec<f64> = seen.clone().map(|t| product(t, |x| x)).collect();
    let sizes = seen.clone().map(|t| product(t, f64::abs)).fold(0.0, f64::max);
    let max = scores.iter().copied().fold(f64::MIN, f64::max);
    let spread = scores.iter().map(|s| max - s).fold(0.0, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| libm::exp(s - max)).collect();
    let total: f64 = weights.iter().sum();

    // Of a weight: its score, the difference to the largest, exp, and a factor a block. It counts above and below the line.
    let blocks = (end.div_ceil(64) + 1) as f64;
    let of_weight = (head as f64 + 2.0) * UNIT * sizes + UNIT * spread + 8.0 * blocks * UNIT;
    let of_sums = (seen.len() as f64 + blocks + 8.0) * UNIT;
    (0..head)
        .map(|i| {
            let parts = weights.iter().zip(seen.clone()).map(|(w, t)| w / total * row(&sequence.values, t)[i]);
            let (value, size) = parts.fold((0.0, 0.0), |(value, size), part| (value + part, size + part.abs()));
            (value, (2.0 * of_weight + of_sums) * size)
        })
        .collect()
}

#[test]
fn results_are_within_their_bound_of_float64() {
    let mut worst = 0.0_f64;
    for (heads, head, window) in [(2, 64, usize::MAX), (1, 128, usize::MAX), (3, 20, 70)] {
        let sequence = Sequence::new(200, heads, head, window);
        let got = sequence.attended(0, 200);
        for (i, (q, got)) in sequence.q.chunks_exact(head).zip(got.chunks_exact(head)).enumerate() {
            for (got, (want, bound)) in got.iter().zip(reference(&sequence, i / heads, q)) {
                let error = (f64::from(*got) - want).abs();
                assert!(error <= bound, "query {i} of {heads} x {head}: {error:e} off, more than {bound:e}");
                worst = worst.max(error / bound);
            }
        }
    }
    // A reference that followed the result would show no error at all.
    assert!(worst > 0.01, "{worst}");
}

#[test]
fn no_queries_are_no_work() {
    let sequence = Sequence::new(3, 1, 8, usize::MAX);
    assert_eq!(sequence.attended(3, 0), []);
}
