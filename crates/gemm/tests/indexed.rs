//! Each output of an indexed product has the bits of that row by that slice alone, whatever the types, the residency, the
//! tier, the threads and the other routes.

mod common;

use common::Problem;
use keepq_act::ActBuf;
use keepq_blocks::{GgmlType, Matrix};
use keepq_gemm::{Driver, Executor, Rayon, Reason, Residency, Route, Scratch, Serial, Team, Weight, WeightStack};
use keepq_goldens::inputs::Random;
use keepq_goldens::naive::{DECODED_TYPES, NaiveType, TYPES};
use keepq_simd::Tier;
use proptest::prelude::*;

const RESIDENCIES: [Residency; 5] =
    [Residency::Keep, Residency::Strict, Residency::ExpandNk, Residency::ExpandKn, Residency::Reference];

/// No multiple of a strip in either orientation.
const N: usize = 37;

fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|v| v.to_bits()).collect()
}

fn random_routes(count: usize, m: usize, slices: usize, seed: u64) -> Vec<Route> {
    let mut random = Random::new(seed);
    (0..count).map(|_| Route { row: random.below(m) as u32, slice: random.below(slices) as u32 }).collect()
}

/// The rows of a problem as a stack of slices of [`N`] each, as a 3-D tensor has them.
fn stack_of(problem: &Problem) -> Vec<Matrix<'_>> {
    (0..problem.n / N).map(|slice| problem.matrix().rows(slice * N..(slice + 1) * N)).collect()
}

/// Each row by its slice, one after the other, with memory of its own.
fn alone(tier: Tier, stack: &[Matrix<'_>], residency: Residency, x: &[f32], routes: &[Route]) -> Vec<u32> {
    let by_one = |route: &Route| {
        let matrix = stack[route.slice as usize];
        let (weight, mut y) = (Weight::new(matrix, residency).unwrap(), vec![f32::NAN; matrix.n()]);
        let (mut buffer, row) = (ActBuf::new(), &x[route.row as usize * matrix.k()..][..matrix.k()]);
        let mut row = buffer.share(1, matrix.k(), row);
        weight.matmul(&Driver::new(tier, &Serial), &mut row, &mut y, &mut Scratch::new()).unwrap();
        bits(&y)
    };
    routes.iter().flat_map(by_one).collect()
}

fn together(
    driver: Driver<'_>,
    stack: &[Matrix<'_>],
    x: &[f32],
    routes: &[Route],
    buffer: &mut ActBuf,
    scratch: &mut Scratch,
) -> Vec<u32> {
    let (n, k) = (stack[0].n(), stack[0].k());
    let mut y = vec![f32::NAN; routes.len() * n];
    driver.matmul_indexed(&mut buffer.share(x.len() / k, k, x), stack, routes, &mut y, scratch).unwrap();
    bits(&y)
}

/// The same by a resident stack.
fn resident(driver: Driver<'_>, stack: &WeightStack<'_>, x: &[f32], routes: &[Route]) -> Vec<u32> {
    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; routes.len() * stack.n()]);
    let mut x = buffer.share(x.len() / stack.k(), stack.k(), x);
    stack.matmul_indexed(&driver, &mut x, routes, &mut y, &mut Scratch::new()).unwrap();
    bits(&y)
}

fn executors() -> [Box<dyn Executor>; 3] {
    [Box::new(Serial), Box::new(Rayon::new(2).unwrap()), Box::new(Team::new(3).unwrap())]
}

/// Matrices of all types that have the same shape, no row twice: slices from here and there.
fn mixed(types: &[&'static NaiveType]) -> Vec<Problem> {
    types.iter().map(|ty| Problem::with_k(ty, 9, types.len() * N, 512)).collect()
}

fn slices_of(problems: &[Problem]) -> Vec<Matrix<'_>> {
    problems.iter().enumerate().map(|(i, problem)| problem.matrix().rows(i * N..(i + 1) * N)).collect()
}

fn all_types() -> Vec<&'static NaiveType> {
    TYPES.iter().chain(DECODED_TYPES).copied().collect()
}

#[test]
fn every_type_on_every_tier_by_any_threads() {
    let executors = executors();
    let routes = random_routes(23, 7, 5, 1);
    for problem in Problem::all(7, 5 * N, 3) {
        let stack = stack_of(&problem);
        for tier in Tier::available() {
            let by_one = |route: &Route| {
                let (mut buffer, mut y) = (ActBuf::new(), [f32::NAN; N]);
                let row = problem.tokens(route.row as usize, 1, &mut buffer);
                let driver = Driver::new(tier, &Serial);
                driver.matmul(row, stack[route.slice as usize], &mut y, &mut Scratch::new()).unwrap();
                bits(&y)
            };
            let want: Vec<u32> = routes.iter().flat_map(by_one).collect();
            for executor in &executors {
                let driver = Driver::new(tier, &**executor);
                let got = together(driver, &stack, &problem.x, &routes, &mut ActBuf::new(), &mut Scratch::new());
                assert_eq!(got, want, "{} {driver:?}", problem.ty);
            }
        }
    }
}

#[test]
fn every_type_in_every_residency() {
    let executors = executors();
    let routes = random_routes(23, 7, 4, 2);
    for ty in all_types() {
        let problem = Problem::new(ty, 7, 4 * N, 3);
        let stack = stack_of(&problem);
        for residency in RESIDENCIES {
            if residency == Residency::Strict && ty.dots.is_none() {
                continue;
            }
            let resident_stack = WeightStack::new(&stack, residency).unwrap();
            for tier in Tier::available() {
                let want = alone(tier, &stack, residency, &problem.x, &routes);
                for executor in &executors {
                    let driver = Driver::new(tier, &**executor);
                    let got = resident(driver, &resident_stack, &problem.x, &routes);
                    assert_eq!(got, want, "{} {residency:?} {driver:?}", ty.ty);
                }
            }
        }
    }
}

/// All formats of activations and, where blocks are expanded to the other orientation, both kernels in one call.
#[test]
fn a_type_per_slice() {
    let executors = executors();
    let problems = mixed(&all_types());
    let (stack, x) = (slices_of(&problems), &problems[0].x);
    let routes = random_routes(50, 9, stack.len(), 3);
    for residency in RESIDENCIES.into_iter().filter(|&residency| residency != Residency::Strict) {
        let resident_stack = WeightStack::new(&stack, residency).unwrap();
        for tier in Tier::available() {
            let want = alone(tier, &stack, residency, x, &routes);
            for executor in &executors {
                let driver = Driver::new(tier, &**executor);
                assert_eq!(resident(driver, &resident_stack, x, &routes), want, "{residency:?} {driver:?}");
            }
        }
    }
}

#[test]
fn routes_of_every_kind() {
    let pool = Rayon::new(2).unwrap();
    let route = |row, slice| Route { row, slice };
    // 257 and 600 tokens are more than a strip runs against at a time, by one and by more.
    let kinds: [Vec<Route>; 7] = [
        Vec::new(),
        vec![route(8, 0)],
        (0..257).map(|i| route(i % 9, 2)).collect(),
        (0..600).map(|i| route(i * 7 % 9, i % 3 / 2)).collect(),
        (0..13).map(|i| route(0, i)).collect(),
        (0..13).rev().map(|i| route(i % 9, i)).collect(),
        vec![route(4, 6); 5],
    ];
    let problems = mixed(TYPES);
    let (stack, x) = (slices_of(&problems), &problems[0].x);
    for tier in Tier::available() {
        for driver in [Driver::new(tier, &Serial), Driver::new(tier, &pool)] {
            // What other calls left is not read.
            let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
            for (i, routes) in kinds.iter().enumerate() {
                let want = alone(tier, &stack, Residency::Keep, x, routes);
                let got = together(driver, &stack, x, routes, &mut buffer, &mut scratch);
                assert_eq!(got, want, "kind {i}, {driver:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_routes(
        routes in prop::collection::vec((0..9_u32, 0..13_u32).prop_map(|(row, slice)| Route { row, slice }), 0..40),
        threads in 1..4_usize,
    ) {
        thread_local! {
            static PROBLEMS: Vec<Problem> = mixed(TYPES);
        }
        PROBLEMS.with(|problems| {
            let (stack, x) = (slices_of(problems), &problems[0].x);
            let pool = Rayon::new(threads).unwrap();
            let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
            let driver = Driver::new(Tier::best(), &pool);
            let got = together(driver, &stack, x, &routes, &mut buffer, &mut scratch);
            prop_assert_eq!(got, alone(Tier::best(), &stack, Residency::Keep, x, &routes));
            Ok(())
        })?;
    }
}

#[test]
fn shapes_without_elements() {
    let (mut scratch, routes) = (Scratch::new(), random_routes(20, 3, 2, 4));
    for residency in RESIDENCIES {
        let driver = Driver::new(Tier::best(), &Serial);
        let none = Matrix::new(GgmlType::Q8_0, 4, 0, &[]).unwrap();
        let stack = WeightStack::new(&[none; 2], residency).unwrap();
        let (mut buffer, mut y) = (ActBuf::new(), [f32::NAN; 80]);
        stack.matmul_indexed(&driver, &mut buffer.share(3, 0, &[]), &routes, &mut y, &mut scratch).unwrap();
        assert_eq!(y, [0.0; 80], "{residency:?} k = 0");

        let none = Matrix::new(GgmlType::Q8_0, 0, 32, &[]).unwrap();
        let stack = WeightStack::new(&[none; 2], residency).unwrap();
        let mut x = buffer.share(3, 32, &[0.0; 96]);
        stack.matmul_indexed(&driver, &mut x, &routes, &mut [], &mut scratch).unwrap();
    }
}

#[test]
fn what_a_stack_says_of_itself() {
    let problems = mixed(&all_types());
    let stack = slices_of(&problems);
    let blocks = stack.iter().filter(|slice| slice.ty().block_len() > 1).count();
    let no_kernel = DECODED_TYPES.len();
    for (residency, expanded, reason) in [
        (Residency::Keep, no_kernel, Reason::NoKernel),
        (Residency::ExpandNk, blocks, Reason::Asked),
        (Residency::ExpandKn, blocks, Reason::Asked),
        (Residency::Reference, blocks, Reason::Asked),
    ] {
        let resident = WeightStack::new(&stack, residency).unwrap();
        assert_eq!((resident.len(), resident.n(), resident.k()), (stack.len(), N, 512));
        assert_eq!(resident.expansion(), Some((expanded * 2 * N * 512, reason)), "{residency:?}");
    }
    let floats: Vec<Matrix<'_>> = stack.iter().copied().filter(|slice| slice.ty() == GgmlType::F16).collect();
    for residency in RESIDENCIES {
        assert_eq!(WeightStack::new(&floats, residency).unwrap().expansion(), None, "{residency:?}");
    }
}
