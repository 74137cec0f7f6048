//! `gemm/<type>/m<m>-n<n>-k<k>`: whole products through the driver.

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_gemm::{Driver, Scratch};

use crate::case::{Golden, Runner};
use crate::inputs::{Floats, Weights, real_rows, real_tokens};
use crate::naive::{NaiveType, TYPES};
use crate::{Blessing, Case, Output};

struct Gemm {
    ty: &'static NaiveType,
    m: usize,
    n: usize,
    k: usize,
    x: Vec<f32>,
    w: Vec<u8>,
}

/// m, n, and chunks of 32 in k, of types that have no super-blocks. No k is a multiple of 256 and one is long; n and m are below, at and above eight, sixteen
/// and a few tokens, which kernels take at a time; some products are large enough to be shared among threads, and m = 259
/// is more than a driver takes at a time.
const SHAPES: [(usize, usize, usize); 19] = [
    (0, 9, 3),
    (1, 7, 1),
    (1, 8, 9),
    (1, 129, 17),
    (2, 3, 0),
    (2, 8, 3),
    (2, 9, 9),
    (2, 70, 17),
    (3, 7, 9),
    (3, 31, 3),
    (3, 64, 15),
    (4, 15, 2),
    (5, 17, 67),
    (7, 16, 5),
    (8, 33, 1),
    (17, 1, 9),
    (17, 8, 3),
    (17, 31, 9),
    (259, 9, 1),
];

/// The same of super-blocks, of which a kernel walks eight at a time.
const SUPER_BLOCK_SHAPES: [(usize, usize, usize); 14] = [
    (0, 9, 1),
    (1, 7, 1),
    (1, 129, 2),
    (2, 3, 0),
    (2, 9, 3),
    (2, 70, 2),
    (3, 31, 1),
    (3, 16, 9),
    (4, 15, 2),
    (5, 17, 17),
    (7, 16, 5),
    (17, 8, 3),
    (17, 31, 1),
    (259, 9, 1),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in TYPES {
        let shapes = if ty.elements == 256 { &SUPER_BLOCK_SHAPES[..] } else { &SHAPES };
        let shapes = shapes.iter().map(|&(m, n, blocks)| {
            // Five left over, of a kernel's eight, where the type allows it.
            let k = ty.chunk() * blocks + if ty.is_float() && blocks > 0 { 5 } else { 0 };
            // A shape's own, so that a new shape changes no other's golden.
            let seed = ((m * 1000 + n) * 1000 + blocks) as u64;
            let gemm = Gemm { ty, m, n, k, x: tokens(m, k, seed), w: weights(ty, n, k, seed) };
            Case::new(format!("gemm/{}/m{m}-n{n}-k{k}", ty.ty), gemm)
        });
        cases.extend(shapes);
        if !ty.is_float() {
            cases.push(Case::new(format!("gemm/{}/extremes", ty.ty), extremes(ty)));
        }
        if let Some((k, rows)) = real_rows(ty) {
            let x = real_tokens(k);
            let gemm = Gemm { ty, m: x.len(), n: rows.len(), k, x: x.concat(), w: rows.concat() };
            cases.push(Case::new(format!("gemm/{}/smollm2", ty.ty), gemm));
        }
    }
    cases
}

/// One block: there is no second one in whose rounding a wrong sum would be lost. By rows of more than a strip and tokens of
/// more than a tile.
fn extremes(ty: &'static NaiveType) -> Gemm {
    let (k, n) = (ty.elements, 2 * Weights::EXTREME_BLOCKS);
    let w = [Weights::Extremes, Weights::Large].map(|weights| weights.row(ty, n / 2 * k, 700)).concat();
    // Of 256 elements each, of which blocks of 32 see an eighth.
    let tokens = [Floats::Flat.row(512, 701), Floats::Ones.row(256, 702), Floats::Peaks.row(768, 703)].concat();
    let x: Vec<f32> = tokens.chunks(256).flat_map(|token| &token[..k]).copied().collect();
    Gemm { ty, m: x.len() / k, n, k, x, w }
}

/// Tokens of several kinds in turn.
fn tokens(m: usize, k: usize, seed: u64) -> Vec<f32> {
    let kinds = [Floats::Gaussian, Floats::Asymmetric, Floats::Outlier];
    (0..m).flat_map(|t| kinds[t % kinds.len()].row(k, 1000 * seed + t as u64)).collect()
}

/// Rows of several kinds in turn.
fn weights(ty: &NaiveType, n: usize, k: usize, seed: u64) -> Vec<u8> {
    let kinds = [Weights::Encoded(Floats::Gaussian), Weights::Codes, Weights::Encoded(Floats::Asymmetric)];
    (0..n).flat_map(|r| kinds[r % kinds.len()].row(ty, k, 1000 * seed + 500 + r as u64)).collect()
}

impl Golden for Gemm {
    fn run(&self, runner: &Runner) -> Output {
        let w = Matrix::new(self.ty.ty, self.n, self.k, &self.w).expect("whole rows");
        let format = ActFormat::for_weights(self.ty.ty).expect("the type has a dot");
        let mut buffer = ActBuf::new();
        let x = runner.tier.quantize(&mut buffer, format, self.m, self.k, &self.x).expect("whole blocks");
        let mut y = vec![f32::NAN; self.m * self.n];
        let driver = Driver::new(runner.tier, &*runner.executor);
        driver.matmul(x, w, &mut y, &mut Scratch::new()).expect("the shapes fit");
        Output::of_floats(&y)
    }

    fn bless(&self) -> Blessing {
        let row_bytes = self.w.len() / self.n;
        let mut output = Output::default();
        for t in 0..self.m {
            for r in 0..self.n {
                let row = &self.w[r * row_bytes..(r + 1) * row_bytes];
                output.push_floats([&self.ty.dot(row, &self.x[t * self.k..(t + 1) * self.k])]);
            }
        }
        Blessing::Naive(output)
    }
}
