//! The same bits however a product is computed: again, by other threads, token by token, strip by strip, by hand, at
//! any address, in used scratch, in the other orientation.

mod common;

use common::Problem;
use keepq_act::{ActBuf, ActRows, Acts};
use keepq_blocks::{Bf16, GgmlType, Matrix, Rows};
use keepq_dot::kn::KnMatrix;
use keepq_dot::{Portable, Product, dot_float, dot_quantized};
use keepq_gemm::{Driver, Executor, Rayon, Scratch, Serial, Team};
use keepq_goldens::naive::NaiveType;
use keepq_simd::Tier;

/// The bits of tokens `first..first + m` by all rows.
fn matmul(problem: &Problem, tier: Tier, executor: &dyn Executor, first: usize, m: usize) -> Vec<u32> {
    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * problem.n]);
    let x = problem.tokens(first, m, &mut buffer);
    Driver::new(tier, executor).matmul(x, problem.matrix(), &mut y, &mut Scratch::new()).unwrap();
    bits(&y)
}

fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn run_to_run_and_for_any_thread_count() {
    let rayon = [1, 2, 4].map(|threads| Rayon::new(threads).unwrap());
    let teams = [1, 2, 4].map(|threads| Team::new(threads).unwrap());
    let rayon = rayon.iter().map(|rayon| (rayon as &dyn Executor, "rayon"));
    let executors: Vec<_> = rayon.chain(teams.iter().map(|team| (team as &dyn Executor, "team"))).collect();
    // Large enough to be shared among threads, with a last strip that is not whole.
    for (m, n) in [(1, 301), (5, 77)] {
        for problem in Problem::all(m, n, 9) {
            for tier in Tier::available() {
                let serial = matmul(&problem, tier, &Serial, 0, m);
                assert_eq!(serial, matmul(&problem, tier, &Serial, 0, m), "{} run to run", problem.ty);
                for &(executor, name) in &executors {
                    for run in 0..3 {
                        let parallel = matmul(&problem, tier, executor, 0, m);
                        let threads = executor.threads();
                        assert_eq!(serial, parallel, "{} {tier} {name} of {threads} run {run}", problem.ty);
                    }
                }
            }
        }
    }
}

#[test]
fn a_token_alone_and_among_others() {
    const M: usize = 512;
    let pool = Rayon::new(2).unwrap();
    for problem in Problem::all(M, 11, 3) {
        for tier in Tier::available() {
            let all = matmul(&problem, tier, &pool, 0, M);
            let row = |t: usize| &all[t * problem.n..(t + 1) * problem.n];
            for t in 0..M {
                assert_eq!(matmul(&problem, tier, &Serial, t, 1), row(t), "{} {tier} token {t}", problem.ty);
            }
            for m in [2, 3, 17] {
                for first in [0, 200, M - m] {
                    let some = matmul(&problem, tier, &Serial, first, m);
                    assert_eq!(some, all[first * problem.n..(first + m) * problem.n], "{} {tier} m = {m}", problem.ty);
                }
            }
        }
    }
}

#[test]
fn tiers_agree_and_strips_of_every_size_too() {
    for m in [1, 2, 3, 6, 7] {
        for problem in Problem::all(m, 19, 5) {
            let want = matmul(&problem, Tier::PORTABLE, &Serial, 0, m);
            let mut buffer = ActBuf::new();
            let product = Product::new(problem.tokens(0, m, &mut buffer), problem.matrix()).unwrap();
            for tier in Tier::available() {
                assert_eq!(matmul(&problem, tier, &Serial, 0, m), want, "{} {tier}", problem.ty);
                for size in 1..=tier.strip_rows(m).min(problem.n) {
                    for first in (0..problem.n).step_by(size) {
                        let rows = first..problem.n.min(first + size);
                        let strip = product.rows(rows.clone());
                        let (mut y, mut scratch) = (vec![f32::NAN; m * rows.len()], keepq_dot::Scratch::new());
                        scratch.fit(&strip);
                        tier.strip(strip, &mut y, &mut scratch);
                        let got = bits(&y);
                        for (t, got) in got.chunks(rows.len()).enumerate() {
                            let want = &want[t * problem.n..][rows.clone()];
                            assert_eq!(got, want, "{} {tier} strip of {size} at {first}, m = {m}", problem.ty);
                        }
                    }
                }
            }
        }
    }
}

/// The dot of each row and token as `keepq-dot` defines it.
fn by_hand(x: ActRows<'_>, w: Matrix<'_>) -> Vec<u32> {
    let dot = |x: ActRows<'_>, w: Matrix<'_>| match (w.typed(), x.typed()) {
        (Rows::F32(row), Acts::F32(x)) => dot_float(Portable, row, x),
        (Rows::F16(row), Acts::F32(x)) => dot_float(Portable, row, x),
        (Rows::BF16(row), Acts::F32(x)) => dot_float(Portable, row, x),
        (Rows::Q4_0(row), Acts::Q8_0(x)) => dot_quantized(row, x),
        (Rows::Q4_1(row), Acts::Q8_0(x)) => dot_quantized(row, x),
        (Rows::Q5_0(row), Acts::Q8_0(x)) => dot_quantized(row, x),
        (Rows::Q5_1(row), Acts::Q8_0(x)) => dot_quantized(row, x),
        (Rows::Q8_0(row), Acts::Q8_0(x)) => dot_quantized(row, x),
        (Rows::Q2_K(row), Acts::Q8_K(x)) => dot_quantized(row, x),
        (Rows::Q3_K(row), Acts::Q8_K(x)) => dot_quantized(row, x),
        (Rows::Q4_K(row), Acts::Q8_K(x)) => dot_quantized(row, x),
        (Rows::Q5_K(row), Acts::Q8_K(x)) => dot_quantized(row, x),
        (Rows::Q6_K(row), Acts::Q8_K(x)) => dot_quantized(row, x),
        (_, acts) => panic!("{} does not meet {acts:?}", w.ty()),
    };
    let pairs = (0..x.m()).flat_map(|t| (0..w.n()).map(move |r| (t, r)));
    pairs.map(|(t, r)| dot(x.tokens(t..t + 1), w.rows(r..r + 1)).to_bits()).collect()
}

#[test]
fn the_driver_and_dots_by_hand() {
    // The last k is longer than what kernels decode at a time.
    for (m, blocks) in [(1, 7), (2, 7), (17, 7), (1, 131), (6, 131)] {
        for problem in Problem::all(m, 13, blocks) {
            let mut buffer = ActBuf::new();
            let want = by_hand(problem.tokens(0, m, &mut buffer), problem.matrix());
            for tier in Tier::available() {
                assert_eq!(matmul(&problem, tier, &Serial, 0, m), want, "{} {tier} m = {m}", problem.ty);
            }
        }
    }
}

#[test]
fn weights_at_any_address() {
    for m in [1, 4] {
        for problem in Problem::all(m, 9, 3) {
            for tier in Tier::available() {
                let want = matmul(&problem, tier, &Serial, 0, m);
                for offset in [1, 2, 3, 7] {
                    let moved = [vec![0xff; offset], problem.w.clone()].concat();
                    let w = Matrix::new(problem.ty, problem.n, problem.k, &moved[offset..]).unwrap();
                    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * problem.n]);
                    let x = problem.tokens(0, m, &mut buffer);
                    Driver::new(tier, &Serial).matmul(x, w, &mut y, &mut Scratch::new()).unwrap();
                    assert_eq!(bits(&y), want, "{} {tier} at {offset}", problem.ty);
                }
            }
        }
    }
}

/// What a larger product, and one of another type, left in the scratch and the buffer is not read.
#[test]
fn scratch_that_was_used_before() {
    let small: Vec<Problem> = Problem::all(3, 9, 3).collect();
    for tier in Tier::available() {
        let (mut scratch, mut buffer) = (Scratch::new(), ActBuf::new());
        let driver = Driver::new(tier, &Serial);
        for large in Problem::all(40, 33, 19) {
            let mut y = vec![f32::NAN; 40 * 33];
            driver.matmul(large.tokens(0, 40, &mut buffer), large.matrix(), &mut y, &mut scratch).unwrap();
            for problem in &small {
                let mut y = vec![f32::NAN; 3 * 9];
                driver.matmul(problem.tokens(0, 3, &mut buffer), problem.matrix(), &mut y, &mut scratch).unwrap();
                assert_eq!(bits(&y), matmul(problem, tier, &Serial, 0, 3), "{} after {}", problem.ty, large.ty);
            }
        }
    }
}

#[test]
fn the_other_orientation_of_bf16() {
    let pool = Team::new(2).unwrap();
    let bf16 = NaiveType::of(GgmlType::BF16).unwrap();
    for (m, n, blocks) in [(1, 1, 1), (1, 300, 9), (2, 33, 2), (17, 95, 4), (300, 7, 3)] {
        let problem = Problem::new(bf16, m, n, blocks);
        let Rows::BF16(rows) = problem.matrix().typed() else { panic!("BF16 rows") };
        let columns: Vec<Bf16> = (0..problem.k).flat_map(|i| (0..n).map(move |r| rows[r * problem.k + i])).collect();
        let w = KnMatrix::new(n, problem.k, &columns).unwrap();
        for tier in Tier::available() {
            let nk = matmul(&problem, tier, &Serial, 0, m);
            for driver in [Driver::new(tier, &Serial), Driver::new(tier, &pool)] {
                let mut y = vec![f32::NAN; m * n];
                let x = ActRows::f32(m, problem.k, &problem.x).unwrap();
                driver.matmul_kn(x, w, &mut y, &mut Scratch::new()).unwrap();
                assert_eq!(bits(&y), nk, "{driver:?} {m} {n} {}", problem.k);
            }
        }
    }
}
