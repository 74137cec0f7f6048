//! `indexed/<type>/<routes>`: rows by the slices of a stack that routes name, through the driver.

use keepq_act::ActBuf;
use keepq_blocks::Matrix;
use keepq_gemm::{Driver, Route, Scratch};

use crate::case::{Golden, Runner};
use crate::inputs::{Floats, Random, Weights};
use crate::naive::{NaiveType, TYPES};
use crate::{Blessing, Case, Output};

struct Indexed {
    n: usize,
    x: Vec<f32>,
    stack: Vec<Slice>,
    routes: Vec<Route>,
}

struct Slice {
    ty: &'static NaiveType,
    bytes: Vec<u8>,
}

impl Slice {
    fn matrix(&self, n: usize) -> Matrix<'_> {
        Matrix::new(self.ty.ty, n, K, &self.bytes).expect("whole rows")
    }
}

/// Elements of a row of every case, so that a stack can have slices of all types.
const K: usize = 512;

/// Of each type one stack, with slices that no, one, two and many rows are routed to; and stacks with a slice of each type.
pub(super) fn cases() -> Vec<Case> {
    let one_type = TYPES.iter().map(|&ty| {
        let mut routes = random_routes(40, 5, 3, 40);
        routes.extend([Route { row: 2, slice: 5 }, Route { row: 2, slice: 5 }, Route { row: 4, slice: 6 }]);
        Case::new(format!("indexed/{}/some-of-7", ty.ty), case(vec![ty; 7], 5, 33, routes))
    });
    let mixed = |name: &str, n, routes| Case::new(format!("indexed/mixed/{name}"), case(TYPES.to_vec(), 9, n, routes));
    let slices = TYPES.len() as u32;
    let mixed = [
        mixed("random", 17, random_routes(70, 9, TYPES.len(), 41)),
        mixed("one-row-by-all", 70, (0..slices).rev().map(|slice| Route { row: 3, slice }).collect()),
        // More than a driver takes at a time.
        mixed("all-to-two", 9, (0..300).map(|i| Route { row: i * 5 % 9, slice: slices - 1 - i % 8 / 7 }).collect()),
    ];
    one_type.chain(mixed).collect()
}

fn random_routes(count: usize, m: usize, slices: usize, seed: u64) -> Vec<Route> {
    let mut random = Random::new(seed);
    (0..count).map(|_| Route { row: random.below(m) as u32, slice: random.below(slices) as u32 }).collect()
}

fn case(types: Vec<&'static NaiveType>, m: usize, n: usize, routes: Vec<Route>) -> Indexed {
    let kinds = [Weights::Encoded(Floats::Gaussian), Weights::Codes, Weights::Encoded(Floats::Asymmetric)];
    let slice = |(i, ty): (usize, &'static NaiveType)| {
        let row = |r: usize| kinds[r % kinds.len()].row(ty, K, 42_000 + (i * n + r) as u64);
        Slice { ty, bytes: (0..n).flat_map(row).collect() }
    };
    let stack = types.into_iter().enumerate().map(slice).collect();
    let tokens = [Floats::Gaussian, Floats::Asymmetric, Floats::Outlier];
    let x = (0..m).flat_map(|t| tokens[t % tokens.len()].row(K, 41_000 + t as u64)).collect();
    Indexed { n, x, stack, routes }
}

impl Golden for Indexed {
    fn run(&self, runner: &Runner) -> Output {
        let stack: Vec<Matrix<'_>> = self.stack.iter().map(|slice| slice.matrix(self.n)).collect();
        let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; self.routes.len() * self.n]);
        let mut x = buffer.share(self.x.len() / K, K, &self.x);
        let driver = Driver::new(runner.tier, &*runner.executor);
        driver.matmul_indexed(&mut x, &stack, &self.routes, &mut y, &mut Scratch::new()).expect("the shapes fit");
        Output::of_floats(&y)
    }

    fn bless(&self) -> Blessing {
        let mut output = Output::default();
        for route in &self.routes {
            let x = &self.x[route.row as usize * K..][..K];
            let Slice { ty, bytes } = &self.stack[route.slice as usize];
            for row in bytes.chunks_exact(bytes.len() / self.n) {
                output.push_floats([&ty.dot(row, x)]);
            }
        }
        Blessing::Naive(output)
    }
}
