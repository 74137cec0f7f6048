//! The weights: random, with associations in the feed-forward blocks.
//!
//! A neuron of a feed-forward block has a token's embedding as its gate and as its row of `up`, so that it answers to that
//! token alone, and its column of `down` adds another token's embedding to the stream: what follows. The head then finds
//! that token's logit high. Each token has an association or two in every layer, of random strengths, and attention adds
//! what the context says: which one wins depends on both.

use super::random::Random;

/// The numbers that describe the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) embedding: usize,
    pub(super) feed_forward: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head: usize,
}

impl Shape {
    pub(super) const fn q_width(&self) -> usize {
        self.heads * self.head
    }

    pub(super) const fn kv_width(&self) -> usize {
        self.kv_heads * self.head
    }
}

/// One row a token, of length 1 and at right angles to each other, nearly.
pub(super) struct Embeddings {
    values: Vec<f32>,
    width: usize,
}

impl Embeddings {
    pub(super) fn new(random: &mut Random, tokens: usize, width: usize) -> Self {
        Self { values: random.normals(tokens * width, 1.0 / (width as f32).sqrt()), width }
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.values.chunks_exact_mut(self.width)
    }

    pub(super) fn row(&self, token: usize) -> &[f32] {
        &self.values[token * self.width..][..self.width]
    }
}

/// A layer's matrices, row after row.
pub(super) struct Layer {
    pub(super) q: Vec<f32>,
    pub(super) k: Vec<f32>,
    pub(super) v: Vec<f32>,
    pub(super) attention_output: Vec<f32>,
    pub(super) gate: Vec<f32>,
    pub(super) up: Vec<f32>,
    pub(super) down: Vec<f32>,
}

/// How far a gate opens to its token.
pub(super) const GATE: f32 = 4.0;

/// The length of what an association adds to the stream, at most.
pub(super) const STRENGTH: f32 = 0.4;

/// What the last layer takes of the token itself out of the stream: else the head would find it again.
pub(super) const FORGET: f32 = 2.0;

/// The length of what attention adds to the stream in a layer.
pub(super) const CONTEXT: f32 = 0.2;

/// The matrices of a layer, whose neurons answer to the tokens `known` in turn. `words` are the tokens that may follow.
pub(super) fn layer(
    random: &mut Random,
    shape: &Shape,
    embeddings: &Embeddings,
    known: &[usize],
    words: &[usize],
    is_last: bool,
) -> Layer {
    let &Shape { embedding, feed_forward, .. } = shape;
    let (q_width, kv_width) = (shape.q_width(), shape.kv_width());
    // The elements of a normed stream have deviation 1; with weights of this deviation, those of a product have it too.
    let unit = 1.0 / (embedding as f32).sqrt();

    let mut gate = Vec::with_capacity(feed_forward * embedding);
    let mut down = vec![0.0; embedding * feed_forward];
    for neuron in 0..feed_forward {
        let token = known[neuron % known.len()];
        let next = words[random.below(words.len())];
        // A normed stream is sqrt(embedding) times as long as an embedding.
        gate.extend(embeddings.row(token).iter().map(|v| v * GATE * unit));
        // Squared, so that few are strong.
        let uniform = random.uniform();
        let strength = STRENGTH * uniform * uniform;
        let forget = if is_last && neuron < known.len() { FORGET } else { 0.0 };
        for (row, (add, remove)) in embeddings.row(next).iter().zip(embeddings.row(token)).enumerate() {
            // Gate and up answer with `GATE` each.
            down[row * feed_forward + neuron] = (strength * add - forget * remove) / (GATE * GATE);
        }
    }
    Layer {
        q: random.normals(q_width * embedding, 2.0 * unit),
        k: random.normals(kv_width * embedding, unit),
        v: random.normals(kv_width * embedding, unit),
        attention_output: random.normals(embedding * q_width, CONTEXT * unit / (q_width as f32).sqrt()),
        up: gate.clone(),
        gate,
        down,
    }
}
