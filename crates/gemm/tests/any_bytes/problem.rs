//! [`Problem`]: weights, activations and a shape, all of which any bytes can be.

use std::ops::Range;

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{GgmlType, Matrix};
use keepq_gemm::{Driver, Scratch, Serial};
use keepq_goldens::tested_tiers;
use keepq_simd::Tier;

/// The types that have kernels.
fn types() -> Vec<GgmlType> {
    GgmlType::ALL.iter().copied().filter(|&ty| ActFormat::for_weights(ty).is_some()).collect()
}

/// The most tokens: beyond what kernels keep in registers at a time.
const M: usize = 20;

/// The most rows: beyond two strips.
const N: usize = 35;

/// The most elements of a row of blocks: beyond a panel.
const K: usize = 2304;

/// The most elements of a row of numbers, which are not whole lanes.
const FLOATS: usize = 100;

/// Places in a cache line where weights can begin.
const LINE: usize = 64;

/// A multiplication.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) ty: GgmlType,
    m: usize,
    n: usize,
    k: usize,
    /// Bytes before the weights, which end with their allocation.
    skip: usize,
    weights: Box<[u8]>,
    x: Box<[f32]>,
}

impl Problem {
    /// What the bytes mean: a shape, then weights, then activations, for which they are repeated as often as it takes. None where they
    /// are too few for a shape.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&[ty, m, n, k, skip, activations], rest) = bytes.split_first_chunk()?;
        if rest.is_empty() {
            return None;
        }
        let up_to = |byte: u8, most: usize| 1 + usize::from(byte) % most;
        let types = types();
        let ty = types[usize::from(ty) % types.len()];
        let (m, n, skip) = (up_to(m, M), up_to(n, N), usize::from(skip) % LINE);
        let block = ty.block_len();
        let k = if block == 1 { up_to(k, FLOATS) } else { block * up_to(k, K / block) };

        let mut bytes = (0_usize..).flat_map(|round| rest.iter().map(move |byte| byte.wrapping_add(round as u8)));
        let mut next = || bytes.next().unwrap_or_default();
        let len = n * ty.row_bytes(k)?;
        let weights = (0..skip + len).map(|_| next()).collect();
        let element = |_| match activations % 2 {
            // Mostly finite, so that it shows what becomes of the weights.
            0 => f32::from(next().cast_signed()),
            _ => f32::from_le_bytes([next(), next(), next(), next()]),
        };
        let x = (0..m * k).map(element).collect();
        Some(Self { ty, m, n, k, skip, weights, x })
    }

    /// Multiplies on every tier, all tokens at once and each alone, and compares; gives the outputs.
    pub(crate) fn check(&self) -> Vec<f32> {
        let wanted = self.multiply(Tier::PORTABLE, 0..self.m);
        for tier in tested_tiers() {
            self.compare(tier, 0..self.m, &wanted);
            for (t, row) in wanted.chunks_exact(self.n).enumerate() {
                self.compare(tier, t..t + 1, row);
            }
        }
        wanted
    }

    fn compare(&self, tier: Tier, tokens: Range<usize>, wanted: &[f32]) {
        let found = self.multiply(tier, tokens.clone());
        // Any NaN equals any NaN.
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
        if let Some(at) = wanted.iter().zip(&found).position(differs) {
            let Self { ty, m, n, k, .. } = self;
            let (wanted, found) = (wanted[at], found[at]);
            panic!("{ty} {tier}: tokens {tokens:?} of {m}, n {n}, k {k}: output {at} is {found:e}, not {wanted:e}");
        }
    }

    fn multiply(&self, tier: Tier, tokens: Range<usize>) -> Vec<f32> {
        let &Self { ty, n, k, skip, .. } = self;
        let m = tokens.len();
        let format = ActFormat::for_weights(ty).expect("a kernel");
        let w = Matrix::new(ty, n, k, &self.weights[skip..]).expect("whole rows");
        // Boxes of their own, so that an address sanitizer sees a read past any end.
        let x: Box<[f32]> = self.x[tokens.start * k..tokens.end * k].into();
        let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * n]);
        let x = buffer.quantize(format, m, k, &x).expect("whole blocks");
        Driver::new(tier, &Serial).matmul(x, w, &mut y, &mut Scratch::new()).expect("shapes that fit");
        y
    }
}
