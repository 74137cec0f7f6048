//! [`Matrices`]: the same weights as int8 and as int4, and their products with a token.

use anyhow::Result;
use keepq_simd::Tier;
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::{ActBuf, Acts, LayoutError};

use crate::synth::random::Random;

/// Elements of weights have this deviation, as those of trained models have about.
const DEVIATION: f32 = 0.02;

/// Codes of the tokens that matrices are multiplied by.
const TOKENS: [usize; 3] = [1024, 2048, 3072];

/// Some matrices of weights, both ways.
pub(super) struct Matrices {
    int8: Vec<Int8>,
    int4: Vec<QuantizedMatrixQ4>,
}

/// One scale a row.
#[derive(Clone)]
struct Int8 {
    k: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl Matrices {
    /// Matrices of these shapes, (n,k), all of them in memory so many times.
    pub(super) fn new(shapes: &[(usize, usize)], times: usize) -> Result<Self> {
        let mut random = Random::seeded(1);
        let (mut int8, mut int4) = (Vec::new(), Vec::new());
        for &(n, k) in shapes {
            let weights = random.normals(n * k, DEVIATION);
            int8.push(Int8::quantize(k, &weights));
            int4.push(QuantizedMatrixQ4::quantize(n, k, &weights)?);
        }
        Ok(Self { int8: repeat(&int8, times), int4: repeat(&int4, times) })
    }

    /// Memory for the results of the largest.
    pub(super) fn output(&self) -> Vec<f32> {
        vec![0.0; self.int4.iter().map(QuantizedMatrixQ4::n).max().unwrap_or(0)]
    }

    /// Multiplies a token by each.
    pub(super) fn multiply_int8(&self, tier: Tier, x: &[Acts<'_>], y: &mut [f32]) {
        for Int8 { k, codes, scales } in &self.int8 {
            tier.int8_strip(codes, scales, of(x, *k), &mut y[..scales.len()]);
        }
    }

    /// Multiplies a token by each.
    pub(super) fn multiply_int4(&self, tier: Tier, x: &[Acts<'_>], y: &mut [f32]) {
        for w in &self.int4 {
            tier.int4_strip(w, 0..w.n(), of(x, w.k()), &mut y[..w.n()]);
        }
    }

    /// Bytes of codes and scales.
    pub(super) fn int8_bytes(&self) -> usize {
        self.int8.iter().map(|w| w.codes.len() + size_of_val(&*w.scales)).sum()
    }

    /// Bytes of codes and scales.
    pub(super) fn int4_bytes(&self) -> usize {
        self.int4.iter().map(QuantizedMatrixQ4::bytes).sum()
    }
}

impl Int8 {
    fn quantize(k: usize, weights: &[f32]) -> Self {
        let (mut codes, mut scales) = (Vec::with_capacity(weights.len()), Vec::new());
        for row in weights.chunks_exact(k) {
            let scale = row.iter().fold(0.0_f32, |amax, w| amax.max(w.abs())) / 127.0;
            codes.extend(row.iter().map(|w| (w / scale).round_ties_even() as i8));
            scales.push(scale);
        }
        Self { k, codes, scales }
    }
}

/// A token of each length that matrices have.
pub(super) fn tokens(buffers: &mut [ActBuf; TOKENS.len()]) -> Result<Vec<Acts<'_>>, LayoutError> {
    let mut random = Random::seeded(2);
    let token = |(buffer, k): (_, usize)| ActBuf::quantize(buffer, 1, k, &random.normals(k, 1.0));
    buffers.iter_mut().zip(TOKENS).map(token).collect()
}

/// The token of k codes.
fn of<'x>(x: &[Acts<'x>], k: usize) -> Acts<'x> {
    *x.iter().find(|x| x.k() == k).expect("a token of each length")
}

fn repeat<T: Clone>(matrices: &[T], times: usize) -> Vec<T> {
    (0..times).flat_map(|_| matrices.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the same weights, so that they are as near to each other as their bits allow.
    #[test]
    fn both_multiply_the_same_weights() {
        let matrices = Matrices::new(&[(40, 1024), (24, 2048)], 2).expect("finite weights");
        assert_eq!((matrices.int8_bytes(), matrices.int4_bytes()), (180_736, 90_624));
        let mut buffers = [(); 3].map(|()| ActBuf::new());
        let x = tokens(&mut buffers).expect("as many elements");
        for tier in Tier::available() {
            let (mut int8, mut int4) = (matrices.output(), matrices.output());
            matrices.multiply_int8(tier, &x, &mut int8);
            matrices.multiply_int4(tier, &x, &mut int4);
            let length: f32 = int8[..24].iter().map(|y| y * y).sum();
            let apart: f32 = int8[..24].iter().zip(&int4).map(|(a, b)| (a - b) * (a - b)).sum();
            assert!(length > 1.0 && (apart / length).sqrt() < 0.2, "{tier}: {length} {apart}");
        }
    }
}
