//! The hot call allocates nothing on the serial executor, nor in the caller of a team, once its scratch has been used.
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait's implementation")]

mod common;
#[cfg(feature = "tinygemm")]
#[allow(dead_code, reason = "no path is defined here")]
#[path = "tinygemm/weights.rs"]
mod weights;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::Problem;
use keepq_act::{ActBuf, ActFormat, ActRows};
use keepq_blocks::Bf16;
use keepq_dot::kn::KnMatrix;
use keepq_gemm::{Driver, Executor, Residency, Route, Scratch, Serial, Team, Weight, WeightStack};
use keepq_goldens::naive::TYPES;
use keepq_simd::Tier;

/// The system's allocator, which counts what each thread asks for.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator, whose promises are those of the trait. Counting allocates nothing:
// the counter is a plain number that needs no initialisation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the trait's conditions, which are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; `pointer` came from the system.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread in the second call of `call`.
fn allocations(mut call: impl FnMut()) -> usize {
    call();
    let before = COUNT.get();
    call();
    COUNT.get() - before
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8]))), 1);
}

#[test]
fn quantizing_and_multiplying() {
    for tier in Tier::available() {
        let driver = Driver::new(tier, &Serial);
        for m in [0, 1, 2, 3, 300] {
            for problem in Problem::all(m, 19, 3) {
                let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
                let (w, mut y) = (problem.matrix(), vec![0.0; m * 19]);
                let found = allocations(|| {
                    driver.matmul(problem.tokens(0, m, &mut buffer), w, &mut y, &mut scratch).unwrap();
                });
                assert_eq!(found, 0, "{} {tier} m = {m}", problem.ty);
            }
        }
    }
}

/// What the workers allocate is not counted, and no more than the caller: they run the same code.
#[test]
fn products_that_a_team_shares() {
    let team = Team::new(2).unwrap();
    let driver = Driver::new(Tier::best(), &team);
    let problem = Problem::with_k(TYPES[0], 40, 301, 512);
    let (mut buffer, mut scratch, mut y) = (ActBuf::new(), Scratch::new(), vec![0.0; 40 * 301]);
    let weight = Weight::new(problem.matrix(), Residency::Keep).unwrap();
    let found = allocations(|| {
        team.enter(&mut || {
            let mut x = buffer.share(40, 512, &problem.x);
            weight.matmul(&driver, &mut x, &mut y, &mut scratch).unwrap();
        });
    });
    assert_eq!(found, 0);
}

/// Several weights in one run, of types that take different formats of activations.
#[test]
fn several_products_in_one_run() {
    let team = Team::new(2).unwrap();
    let problems = TYPES.iter().map(|ty| Problem::with_k(ty, 40, 301, 512)).collect::<Vec<_>>();
    let weights = problems.iter().map(|problem| Weight::new(problem.matrix(), Residency::Keep).unwrap());
    let weights = weights.collect::<Vec<_>>();
    let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
    let mut y = [(); 3].map(|()| vec![0.0; 40 * 301]);
    for executor in [&Serial as &dyn Executor, &team] {
        let driver = Driver::new(Tier::best(), executor);
        for weights in weights.windows(3) {
            let found = allocations(|| {
                let [a, b, c] = &mut y;
                let products = [(&weights[0], &mut a[..]), (&weights[1], &mut b[..]), (&weights[2], &mut c[..])];
                driver.matmul_many(&mut buffer.share(40, 512, &problems[0].x), products, &mut scratch).unwrap();
            });
            assert_eq!(found, 0, "{} threads", executor.threads());
        }
    }
}

/// The way of a decoder: one scratch for all, a large product before a small one.
#[test]
fn weights_of_every_residency_that_share_activations() {
    let problems: Vec<Problem> = Problem::all(5, 40, 9).collect();
    let mut driver_scratch = Scratch::new();
    for residency in [Residency::Keep, Residency::ExpandNk, Residency::ExpandKn, Residency::Reference] {
        let weights: Vec<Weight<'_>> = problems.iter().map(|p| Weight::new(p.matrix(), residency).unwrap()).collect();
        let (mut buffer, mut y) = (ActBuf::new(), vec![0.0; 5 * 40]);
        let found = allocations(|| {
            for (problem, weight) in problems.iter().zip(&weights) {
                let mut x = buffer.share(5, problem.k, &problem.x);
                let driver = Driver::new(Tier::best(), &Serial);
                weight.matmul(&driver, &mut x, &mut y, &mut driver_scratch).unwrap();
            }
        });
        assert_eq!(found, 0, "{residency:?}");
    }
}

/// Experts in every residency. The second call's routes are as many and lead elsewhere: each to another expert, then all to
/// one.
#[test]
fn indexed_products() {
    for routes in [8, 30] {
        let spread = (0..routes).map(|i| Route { row: i % 5, slice: i % 8 }).collect();
        let [first, second]: [Vec<Route>; 2] = [spread, vec![Route { row: 4, slice: 7 }; routes as usize]];
        for problem in Problem::all(5, 8 * 19, 3) {
            let slices: Vec<_> = (0..8).map(|slice| problem.matrix().rows(slice * 19..(slice + 1) * 19)).collect();
            for residency in [Residency::Keep, Residency::ExpandNk, Residency::ExpandKn, Residency::Reference] {
                let stack = WeightStack::new(&slices, residency).unwrap();
                for (from, to) in [(&first, &second), (&second, &first)] {
                    let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
                    let (mut calls, mut y) = ([from, to].into_iter(), vec![0.0; from.len() * 19]);
                    let found = allocations(|| {
                        let mut x = buffer.share(5, problem.k, &problem.x);
                        let driver = Driver::new(Tier::best(), &Serial);
                        let routes = calls.next().expect("two calls");
                        stack.matmul_indexed(&driver, &mut x, routes, &mut y, &mut scratch).unwrap();
                    });
                    assert_eq!(found, 0, "{} {residency:?}", problem.ty);
                }
            }
        }
    }
}

#[test]
fn indexed_products_of_a_type_per_slice() {
    let problems: Vec<Problem> = TYPES.iter().map(|ty| Problem::with_k(ty, 5, 19, 512)).collect();
    let stack: Vec<_> = problems.iter().map(Problem::matrix).collect();
    let routes: Vec<Route> = (0..40).map(|i| Route { row: i % 5, slice: i % stack.len() as u32 }).collect();
    for tier in Tier::available() {
        let (mut buffer, mut scratch, mut y) = (ActBuf::new(), Scratch::new(), vec![0.0; 40 * 19]);
        let found = allocations(|| {
            let mut x = buffer.share(5, 512, &problems[0].x);
            Driver::new(tier, &Serial).matmul_indexed(&mut x, &stack, &routes, &mut y, &mut scratch).unwrap();
        });
        assert_eq!(found, 0, "{tier}");
    }
}

#[test]
fn the_other_orientation() {
    let elements = vec![Bf16::default(); 70 * 33];
    let (w, x) = (KnMatrix::new(70, 33, &elements).unwrap(), vec![1.0; 300 * 33]);
    let (mut scratch, mut y) = (Scratch::new(), vec![0.0; 300 * 70]);
    let driver = Driver::new(Tier::best(), &Serial);
    let found = allocations(|| {
        driver.matmul_kn(ActRows::f32(300, 33, &x).unwrap(), w, &mut y, &mut scratch).unwrap();
    });
    assert_eq!(found, 0);
}

#[test]
fn rows_and_tiles() {
    let (mut scratch, mut out) = (Scratch::new(), vec![0.0; 64]);
    let driver = Driver::new(Tier::best(), &Serial);
    let found = allocations(|| {
        driver.for_each_row(&mut out, 16, 100, &mut scratch, |i, row, memory| {
            memory.fill(i as f32);
            row.copy_from_slice(&memory[..16]);
        });
    });
    assert_eq!(found, 0);
    assert_eq!(out[63], 3.0);

    let found = allocations(|| {
        driver.for_each_tile(&mut out, 8, (3, 2), 100, &mut scratch, |first, mut tile, memory| {
            memory.fill((100 * first + tile.columns().start) as f32);
            (0..tile.m()).for_each(|t| tile.row_mut(t).copy_from_slice(&memory[..2]));
        });
    });
    assert_eq!(found, 0);
    for (i, &element) in out.iter().enumerate() {
        assert_eq!(element, (i / 8 / 3 * 300 + i % 8 / 2 * 2) as f32);
    }
}

/// `ActFormat::F32` is a view, and quantizing again fits in what is there.
#[test]
fn a_buffer_that_has_grown() {
    let (mut buffer, x) = (ActBuf::new(), vec![1.0; 2560]);
    let found = allocations(|| {
        for format in [ActFormat::Q8_0, ActFormat::Q8_K, ActFormat::F32] {
            buffer.quantize(format, 10, 256, &x).unwrap();
            buffer.quantize(format, 2, 256, &x[..512]).unwrap();
        }
    });
    assert_eq!(found, 0);
}

/// The 4-bit paths beside GGUF, whose scratch holds activations and results of 16 bits as floats too.
#[cfg(feature = "tinygemm")]
#[test]
fn products_of_4_bit_weights() {
    use half::bf16;
    use keepq_gemm::W4A16Weight;

    let weights = weights::Weights::new(160, 256, 64);
    let (x, mut scratch, mut buffer) = (vec![1.0; 40 * 256], Scratch::new(), keepq_tinygemm::ActBuf::new());
    let driver = Driver::new(Tier::best(), &Serial);
    for m in [40, 1, 0] {
        let (x, mut y) = (&x[..m * 256], vec![0.0; m * 160]);
        let (narrow, mut narrow_y) = (vec![bf16::ONE; m * 256], vec![bf16::ZERO; m * 160]);
        let found = allocations(|| {
            for layout in 0..3 {
                let w = W4A16Weight::from(weights.w4a16(layout));
                driver.matmul_w4a16_f32(m, x, &w, &mut y, &mut scratch).unwrap();
                driver.matmul_w4a16(m, &narrow, &w, &mut narrow_y, &mut scratch).unwrap();
            }
            driver.matmul_wna16(m, x, weights.wna16(), &mut y, &mut scratch).unwrap();
            let acts = driver.tier().quantize_tokens(&mut buffer, m, 256, x).unwrap();
            driver.matmul_w4a8(acts, weights.w4a8(), &mut y, &mut scratch).unwrap();
            driver.matmul_int4(acts, &weights.int4, &mut y, &mut scratch).unwrap();
        });
        assert_eq!(found, 0, "m = {m}");
    }
    // The same as a model holds them, channels in another order.
    let order: Vec<u32> = (0..256).rev().collect();
    for path in 0..6 {
        let w = keepq_gemm::FourBitWeight::new(weights.four_bit(path), Some(order.clone()));
        let (mut acts, mut y) = (ActBuf::new(), vec![0.0; 40 * 160]);
        let found = allocations(|| {
            w.matmul(&driver, &mut acts.share(40, 256, &x), &mut y, &mut scratch).unwrap();
        });
        assert_eq!(found, 0, "path {path}");
    }
}
