//! Several weights by the same activations: the bits of the single products, whatever the weights are and whoever computes.

#[allow(dead_code, reason = "products of one activation ask for problems of one k")]
mod common;

use common::Problem;
use keepq_act::{ActBuf, ActError, ActFormat};
use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::ProductError;
use keepq_gemm::{Driver, Executor, MatmulError, Rayon, Residency, Scratch, Serial, Team, Weight};
use keepq_goldens::naive::TYPES;
use keepq_simd::Tier;

const K: usize = 512;

/// A weight of every type, each of another `n`, in turn of every residency.
fn weights<'p>(problems: &'p [Problem]) -> Vec<Weight<'p>> {
    let residencies =
        [Residency::Keep, Residency::Interleave, Residency::ExpandNk, Residency::ExpandKn, Residency::Reference];
    let hold = |(i, problem): (usize, &'p Problem)| {
        // The others' results are not those of the type in place.
        let residency = if i.is_multiple_of(3) { residencies[i / 3 % residencies.len()] } else { Residency::Keep };
        Weight::new(problem.matrix(), residency).unwrap()
    };
    problems.iter().enumerate().map(hold).collect()
}

fn problems(m: usize) -> Vec<Problem> {
    TYPES.iter().enumerate().map(|(i, ty)| Problem::with_k(ty, m, 7 + 23 * i % 80, K)).collect()
}

fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|v| v.to_bits()).collect()
}

/// Each by itself.
fn single(driver: &Driver<'_>, weight: &Weight<'_>, m: usize, x: &[f32]) -> Vec<u32> {
    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * weight.n()]);
    weight.matmul(driver, &mut buffer.share(m, K, x), &mut y, &mut Scratch::new()).unwrap();
    bits(&y)
}

#[test]
fn bits_are_those_of_the_single_products() {
    let (rayon, team, three) = (Rayon::new(2).unwrap(), Team::new(2).unwrap(), Team::new(3).unwrap());
    let executors: [&dyn Executor; 4] = [&Serial, &rayon, &team, &three];
    for m in [0, 1, 2, 8, 33] {
        let problems = problems(m);
        let (weights, x) = (weights(&problems), &problems[0].x[..]);
        for tier in Tier::available() {
            let want: Vec<_> = weights.iter().map(|weight| single(&Driver::new(tier, &Serial), weight, m, x)).collect();
            for executor in executors {
                let driver = Driver::new(tier, executor);
                let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
                // Three neighbours, the last with the first.
                for i in 0..weights.len() {
                    let places = [i, (i + 1) % weights.len(), (i + 2) % weights.len()];
                    let mut y = places.map(|i| vec![f32::NAN; m * weights[i].n()]);
                    let [a, b, c] = &mut y;
                    let of = |place: usize| &weights[places[place]];
                    let products = [(of(0), &mut a[..]), (of(1), &mut b[..]), (of(2), &mut c[..])];
                    driver.matmul_many(&mut buffer.share(m, K, x), products, &mut scratch).unwrap();
                    for (y, place) in y.iter().zip(places) {
                        let threads = executor.threads();
                        assert_eq!(bits(y), want[place], "{} {tier} m = {m} by {threads}", problems[place].ty);
                    }
                }
            }
        }
    }
}

#[test]
fn none_one_and_the_same_twice() {
    let problems = problems(2);
    let (weights, x) = (weights(&problems), &problems[0].x[..]);
    let driver = Driver::new(Tier::best(), &Serial);
    let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
    driver.matmul_many(&mut buffer.share(2, K, x), [], &mut scratch).unwrap();
    let want = single(&driver, &weights[1], 2, x);
    let mut y = vec![f32::NAN; 2 * weights[1].n()];
    driver.matmul_many(&mut buffer.share(2, K, x), [(&weights[1], &mut y)], &mut scratch).unwrap();
    assert_eq!(bits(&y), want);
    let (mut a, mut b) = (vec![f32::NAN; y.len()], vec![f32::NAN; y.len()]);
    let products = [(&weights[1], &mut a[..]), (&weights[1], &mut b[..])];
    driver.matmul_many(&mut buffer.share(2, K, x), products, &mut scratch).unwrap();
    assert_eq!((bits(&a), bits(&b)), (want.clone(), want));
}

#[test]
fn one_that_does_not_fit_refuses_all() {
    let bytes = [0; 3 * 68];
    let hold = |n: usize, k: usize| {
        let matrix = Matrix::new(GgmlType::Q8_0, n, k, &bytes[..n * k / 32 * 34]).unwrap();
        Weight::new(matrix, Residency::Keep).unwrap()
    };
    let (good, narrow) = (hold(3, 64), hold(3, 32));
    let super_block = [0; 144];
    let of_super_blocks = Matrix::new(GgmlType::Q4_K, 1, 256, &super_block).unwrap();
    let of_super_blocks = Weight::new(of_super_blocks, Residency::Keep).unwrap();
    let (mut buffer, mut scratch, x) = (ActBuf::new(), Scratch::new(), [1.0; 128]);
    let mut refused = |weight: &Weight<'_>, len: usize| {
        let (mut first, mut y) = ([7.0; 6], vec![7.0; len]);
        let products = [(&good, &mut first[..]), (weight, &mut y[..])];
        let driver = Driver::new(Tier::best(), &Serial);
        let error = driver.matmul_many(&mut buffer.share(2, 64, &x), products, &mut scratch).unwrap_err();
        assert!(first.iter().chain(&y).all(|&v| v == 7.0), "{error} was written over");
        error
    };
    assert_eq!(refused(&good, 5), MatmulError::WrongOutput { m: 2, n: 3, found: 5 });
    let narrow = refused(&narrow, 6);
    assert_eq!(narrow, MatmulError::Product(ProductError::WrongK { weights: 32, activations: 64 }));
    let ragged = refused(&of_super_blocks, 2);
    assert_eq!(ragged, MatmulError::Acts(ActError::RaggedRow { format: ActFormat::Q8_K, k: 64 }));
}
