//! `kn/BF16/m<m>-n<n>-k<k>`: bf16 weights in the other orientation, `w[k,n]`.

use keepq_act::ActRows;
use keepq_blocks::{Bf16, GgmlType};
use keepq_dot::kn::KnMatrix;
use keepq_gemm::{Driver, Scratch};

use crate::case::{Golden, Runner};
use crate::inputs::{Floats, Weights};
use crate::naive::NaiveType;
use crate::{Blessing, Case, Output};

struct Kn {
    m: usize,
    n: usize,
    k: usize,
    x: Vec<f32>,
    /// Rows of k, as the naive dot reads them.
    nk: Vec<Vec<u8>>,
}

/// m, n, k: below, at and above the 32 columns and the 64 rows of k that a kernel walks at a time.
const SHAPES: [(usize, usize, usize); 9] = [
    (0, 5, 3),
    (1, 1, 7),
    (1, 31, 64),
    (2, 2, 0),
    (2, 32, 65),
    (3, 33, 130),
    (17, 70, 37),
    (2, 129, 300),
    (259, 9, 40),
];

pub(super) fn cases() -> Vec<Case> {
    let case = |(m, n, k): (usize, usize, usize)| {
        // A shape's own, so that a new shape changes no other's golden.
        let seed = ((m * 1000 + n) * 1000 + k) as u64;
        let nk = (0..n as u64).map(|r| Weights::Encoded(Floats::Gaussian).row(bf16(), k, 1000 * seed + r)).collect();
        Case::new(format!("kn/BF16/m{m}-n{n}-k{k}"), Kn { m, n, k, x: Floats::Asymmetric.row(m * k, seed), nk })
    };
    SHAPES.into_iter().map(case).collect()
}

fn bf16() -> &'static NaiveType {
    NaiveType::of(GgmlType::BF16).expect("BF16 has a naive implementation")
}

impl Golden for Kn {
    fn run(&self, runner: &Runner) -> Output {
        let element = |row: &[u8], i: usize| Bf16::from_bits(u16::from_le_bytes([row[2 * i], row[2 * i + 1]]));
        let elements: Vec<Bf16> = (0..self.k).flat_map(|i| self.nk.iter().map(move |row| element(row, i))).collect();
        let w = KnMatrix::new(self.n, self.k, &elements).expect("n * k elements");
        let x = ActRows::f32(self.m, self.k, &self.x).expect("m * k elements");
        let mut y = vec![f32::NAN; self.m * self.n];
        let driver = Driver::new(runner.tier, &*runner.executor);
        driver.matmul_kn(x, w, &mut y, &mut Scratch::new()).expect("the shapes fit");
        Output::of_floats(&y)
    }

    fn bless(&self) -> Blessing {
        let mut output = Output::default();
        for t in 0..self.m {
            for row in &self.nk {
                output.push_floats([&bf16().dot(row, &self.x[t * self.k..(t + 1) * self.k])]);
            }
        }
        Blessing::Naive(output)
    }
}
