//! [`Weights`]: any row of any matrix of a model that is too large to be held, made when it is asked for.
//!
//! They have the structure of [`super::super::weights`], with as many neurons in each layer as tokens that have associations:
//! the neuron of a number answers to the token of that number.

use super::super::random::Indexed;
use super::super::weights::{CONTEXT, FORGET, GATE, STRENGTH, Shape};

/// What a tensor's rows are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows {
    /// One a token, of length 1 and at right angles to each other, nearly.
    Embedding,
    /// A norm's only row: numbers near 1. The norms are counted through the model.
    Norm(usize),
    /// A matrix of a layer.
    Layer(usize, Matrix),
}

/// The matrices of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Matrix {
    Query,
    Key,
    Value,
    AttentionOutput,
    Gate,
    Up,
    Down,
}

/// The weights of a model.
#[derive(Debug)]
pub(super) struct Weights {
    shape: Shape,
    seed: u64,
    embeddings: Indexed,
    /// Of each layer, by neuron.
    associations: Vec<Vec<Association>>,
}

/// What a neuron adds to the stream.
#[derive(Debug)]
struct Association {
    /// The token whose embedding it is.
    next: u64,
    /// The length of it.
    strength: f32,
}

/// The sequences of a seed: the embeddings, then the associations of each layer, then norms and matrices.
const EMBEDDINGS: u64 = 0;
const ASSOCIATIONS: u64 = 1 << 32;
const NORMS: u64 = 2 << 32;
const MATRICES: u64 = 3 << 32;

impl Weights {
    /// Of the seed; `words` are the tokens that may follow others.
    pub(super) fn new(seed: u64, shape: Shape, words: &[usize]) -> Self {
        let associations = (0..shape.layers).map(|layer| {
            let random = Indexed::new(seed, ASSOCIATIONS + layer as u64);
            let association = |neuron: u64| {
                let next = words[(random.bits(2 * neuron) % words.len() as u64) as usize] as u64;
                let uniform = random.uniform(2 * neuron + 1);
                Association { next, strength: STRENGTH * uniform * uniform }
            };
            (0..shape.feed_forward as u64).map(association).collect()
        });
        Self { shape, seed, embeddings: Indexed::new(seed, EMBEDDINGS), associations: associations.collect() }
    }

    /// Makes row `row` of a tensor, as long as `out`.
    pub(super) fn row(&self, rows: Rows, row: usize, out: &mut [f32]) {
        let unit = self.unit();
        match rows {
            Rows::Embedding => self.embedding(row, 1.0, out),
            Rows::Norm(norm) => {
                let random = Indexed::new(self.seed, NORMS + norm as u64);
                fill(out, |index| 1.0 + 0.1 * random.normal(index));
            }
            Rows::Layer(layer, matrix) => {
                let normals = |deviation: f32, out: &mut [f32]| {
                    let random = Indexed::new(self.seed, MATRICES + 8 * layer as u64 + matrix as u64);
                    let start = (row * out.len()) as u64;
                    fill(out, |index| deviation * random.normal(start + index));
                };
                match matrix {
                    Matrix::Query => normals(2.0 * unit, out),
                    Matrix::Key | Matrix::Value => normals(unit, out),
                    Matrix::AttentionOutput => normals(CONTEXT * unit / (self.shape.q_width() as f32).sqrt(), out),
                    Matrix::Gate | Matrix::Up => self.embedding(row, GATE * unit, out),
                    Matrix::Down => self.down(layer, row, out),
                }
            }
        }
    }

    /// With weights of this deviation, the elements of a product with a normed stream have deviation 1.
    fn unit(&self) -> f32 {
        1.0 / (self.shape.embedding as f32).sqrt()
    }

    /// A token's embedding, `scale` times as long.
    fn embedding(&self, token: usize, scale: f32, out: &mut [f32]) {
        let (start, deviation) = ((token * self.shape.embedding) as u64, scale * self.unit());
        fill(out, |index| deviation * self.embeddings.normal(start + index));
    }

    /// Element `row` of what every neuron of a layer adds.
    fn down(&self, layer: usize, row: usize, out: &mut [f32]) {
        let width = self.shape.embedding as u64;
        let element = |token: u64| self.embeddings.normal(token * width + row as u64);
        let is_last = layer + 1 == self.shape.layers;
        // Gate and up answer with `GATE` each.
        let scale = self.unit() / (GATE * GATE);
        for ((neuron, association), out) in (0..).zip(&self.associations[layer]).zip(out) {
            let forget = if is_last { FORGET * element(neuron) } else { 0.0 };
            *out = scale * (association.strength * element(association.next) - forget);
        }
    }
}

fn fill(out: &mut [f32], value: impl Fn(u64) -> f32) {
    for (index, out) in (0..).zip(out) {
        *out = value(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { layers: 2, embedding: 512, feed_forward: 300, heads: 4, kv_heads: 2, head: 32 };

    fn row(rows: Rows, row: usize, len: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; len];
        Weights::new(5, SHAPE, &[3, 7, 11]).row(rows, row, &mut out);
        out
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn embeddings_are_of_length_one_and_at_right_angles() {
        let [a, b] = [7, 9].map(|token| row(Rows::Embedding, token, 512));
        assert!((dot(&a, &a) - 1.0).abs() < 0.2 && dot(&a, &b).abs() < 0.2);
    }

    /// A neuron's column of `down` is the embedding of one of the words; in the last layer its token's is taken away.
    #[test]
    fn a_neuron_adds_what_follows_and_the_last_layer_forgets() {
        for (layer, forget) in [(0, 0.0), (1, FORGET)] {
            let rows: Vec<_> = (0..512).map(|row_of| row(Rows::Layer(layer, Matrix::Down), row_of, 300)).collect();
            for neuron in [0, 42, 299] {
                let column: Vec<f32> = rows.iter().map(|row| row[neuron] * GATE * GATE).collect();
                let share = |token| dot(&column, &row(Rows::Embedding, token, 512));
                assert!((share(neuron) + forget).abs() < 0.4, "{}", share(neuron));
                let Association { next, strength } = Weights::new(5, SHAPE, &[3, 7, 11]).associations[layer][neuron];
                assert!(matches!(next, 3 | 7 | 11));
                assert!((share(next as usize) - strength).abs() < 0.4, "{}", share(next as usize));
            }
        }
        let gate = row(Rows::Layer(1, Matrix::Gate), 42, 512);
        assert_eq!(gate, row(Rows::Layer(0, Matrix::Up), 42, 512), "the gate of a token is the same in all layers");
    }

    #[test]
    fn rows_and_matrices_are_different_from_each_other() {
        let rows = [
            row(Rows::Layer(0, Matrix::Query), 0, 512),
            row(Rows::Layer(0, Matrix::Query), 1, 512),
            row(Rows::Layer(1, Matrix::Query), 0, 512),
            row(Rows::Layer(0, Matrix::Key), 0, 512),
            row(Rows::Embedding, 0, 512),
            row(Rows::Norm(0), 0, 512),
            row(Rows::Norm(1), 0, 512),
        ];
        for (index, a) in rows.iter().enumerate() {
            assert!(a.iter().all(|v| v.is_finite()));
            assert!(rows[..index].iter().all(|b| a[0] != b[0] && a[511] != b[511]));
        }
    }
}
