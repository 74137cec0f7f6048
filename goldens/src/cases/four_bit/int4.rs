//! `int4/m<m>-n<n>-k<k>` and `int4/<floats>`

use keepq_gemm::{Driver, Scratch};
use keepq_tinygemm::ActBuf;
use keepq_tinygemm::int4::QuantizedMatrixQ4;

use super::tokens;
use crate::case::{Golden, Runner};
use crate::inputs::Floats;
use crate::naive::four_bit::int4::{self, Row};
use crate::naive::four_bit::{Token, token};
use crate::{Blessing, Case, Output};

struct Int4 {
    n: usize,
    k: usize,
    m: usize,
    x: Vec<f32>,
    w: Vec<f32>,
}

/// m, n, k: any rows, odd lengths, below, at and above what kernels take at a time; long sums.
const SHAPES: [(usize, usize, usize); 9] = [
    (0, 3, 8),
    (1, 1, 1),
    (1, 67, 1023),
    (2, 8, 64),
    (3, 7, 31),
    (4, 16, 33),
    (5, 9, 4097),
    (8, 31, 127),
    (17, 33, 160),
];

pub(super) fn cases() -> Vec<Case> {
    let shape = |(m, n, k): (usize, usize, usize)| {
        let seed = ((m * 1000 + n) * 1000 + k) as u64;
        let int4 = Int4 { n, k, m, x: tokens(m, k, seed), w: Floats::Gaussian.row(n * k, seed) };
        Case::new(format!("int4/m{m}-n{n}-k{k}"), int4)
    };
    let mut cases: Vec<_> = SHAPES.into_iter().map(shape).collect();
    let (n, k) = (6, 320);
    for floats in Floats::FINITE {
        let x = [floats.row(k, 1), Floats::OneNonFinite.row(k, 2), Floats::Gaussian.row(k, 3)].concat();
        let int4 = Int4 { n, k, m: 3, x, w: floats.row(n * k, 400 + floats as u64) };
        cases.push(Case::new(format!("int4/{}", floats.name()), int4));
    }
    cases
}

impl Golden for Int4 {
    fn run(&self, runner: &Runner) -> Output {
        let &Self { n, k, m, .. } = self;
        let w = QuantizedMatrixQ4::quantize(n, k, &self.w).expect("finite weights");
        let mut buffer = ActBuf::new();
        let x = runner.tier.quantize_tokens(&mut buffer, m, k, &self.x).expect("m tokens");
        let mut y = vec![f32::NAN; m * n];
        let driver = Driver::new(runner.tier, &*runner.executor);
        driver.matmul_int4(x, &w, &mut y, &mut Scratch::new()).expect("the shapes fit");
        let mut output = Output::default();
        for (bytes, scale) in (0..n).filter_map(|r| w.row(r)) {
            output.push_bytes(bytes);
            output.push_floats([&scale]);
        }
        output.push_floats(&y);
        output
    }

    fn bless(&self) -> Blessing {
        let rows: Vec<Row> = self.w.chunks(self.k).map(int4::quantize).collect();
        let tokens: Vec<Token> = self.x.chunks(self.k).map(token).collect();
        let mut output = Output::default();
        for row in &rows {
            output.push_bytes(&int4::pack(&row.levels));
            output.push_floats([&row.scale]);
        }
        for x in &tokens {
            output.push_floats(&rows.iter().map(|row| int4::dot(row, x)).collect::<Vec<_>>());
        }
        Blessing::Naive(output)
    }
}
