//! Weights that are held for a model: the products of their path, and channels in another order.

use keepq_act::ActBuf;
use keepq_gemm::{Driver, FourBitWeight, MatmulError, Reason, Scratch, Serial, W4A16Switches, W4A16Weight};
use keepq_simd::Tier;

use crate::weights::{Random, Weights, bits};

const N: usize = 80;
const K: usize = 128;

fn product(w: &FourBitWeight<'_>, m: usize, x: &[f32], scratch: &mut Scratch) -> Vec<u32> {
    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * w.n()]);
    w.matmul(&Driver::new(Tier::best(), &Serial), &mut buffer.share(m, w.k(), x), &mut y, scratch).unwrap();
    bits(&y)
}

#[test]
fn every_path_is_that_of_the_driver() {
    let (weights, mut scratch) = (Weights::new(N, K, 32), Scratch::new());
    for (path, (name, n)) in weights.paths().into_iter().enumerate() {
        let held = FourBitWeight::new(weights.four_bit(path), None);
        assert_eq!((held.n(), held.k(), held.expansion()), (n, K, None), "{name}");
        for m in [0, 1, 3, 40] {
            let x = Random(3).floats(m * K);
            let mut y = vec![f32::NAN; m * n];
            let driver = Driver::new(Tier::best(), &Serial);
            weights.multiply(path, &driver, m, &x, &mut y, &mut Scratch::new()).unwrap();
            assert_eq!(product(&held, m, &x, &mut scratch), bits(&y), "{name}, m = {m}");
        }
    }
    assert!(scratch.bytes() > 0);
}

#[test]
fn channels_take_their_activations_with_them() {
    let weights = Weights::new(N, K, 32);
    let order: Vec<u32> = (0..K as u32).map(|i| (i * 37 + 5) % K as u32).collect();
    let (m, x) = (3, Random(3).floats(3 * K));
    // Channel i of the weights meets channel order[i] of x.
    let gathered: Vec<f32> = x.chunks(K).flat_map(|x| order.iter().map(|&channel| x[channel as usize])).collect();
    for (path, (name, _)) in weights.paths().into_iter().enumerate() {
        let plain = FourBitWeight::new(weights.four_bit(path), None);
        let ordered = FourBitWeight::new(weights.four_bit(path), Some(order.clone()));
        let mut scratch = Scratch::new();
        assert_eq!(product(&ordered, m, &x, &mut scratch), product(&plain, m, &gathered, &mut scratch), "{name}");
        assert_eq!(ordered.bytes(), plain.bytes() + 4 * K, "{name}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let weights = Weights::new(N, K, 32);
    for (path, (name, n)) in weights.paths().into_iter().enumerate() {
        let held = FourBitWeight::new(weights.four_bit(path), None);
        let (mut buffer, x, mut scratch) = (ActBuf::new(), vec![1.0; 2 * K], Scratch::new());
        let driver = Driver::new(Tier::best(), &Serial);
        let short = held.matmul(&driver, &mut buffer.share(2, K - 32, &x[..2 * (K - 32)]), &mut [0.0; 2], &mut scratch);
        assert_eq!(short, Err(MatmulError::WrongInput { m: 2, k: K, found: 2 * (K - 32) }), "{name}");
        let mut y = vec![7.0; 2 * n - 1];
        let found = held.matmul(&driver, &mut buffer.share(2, K, &x), &mut y, &mut scratch);
        assert_eq!(found, Err(MatmulError::WrongOutput { m: 2, n, found: 2 * n - 1 }), "{name}");
        assert!(y.iter().all(|&y| y == 7.0), "{name}");
    }
}

#[test]
#[should_panic(expected = "channels of 128")]
fn an_order_of_other_channels_is_a_mistake() {
    let weights = Weights::new(N, K, 32);
    let _held = FourBitWeight::new(weights.four_bit(0), Some(vec![128; K]));
}

#[test]
fn a_copy_is_told() {
    let weights = Weights::new(N, K, 32);
    let switches = W4A16Switches { direct_dequant: false, ..W4A16Switches::default() };
    let held = W4A16Weight::new(weights.w4a16(0), switches).unwrap();
    let held = FourBitWeight::new(keepq_gemm::FourBit::W4A16(held), None);
    assert_eq!(held.expansion(), Some((held.bytes() / 2, Reason::RowMajor)));
}

#[test]
fn several_in_one_run_have_the_bits_of_single_ones() {
    let (weights, mut scratch) = (Weights::new(N, K, 32), Scratch::new());
    let order: Vec<u32> = (0..K as u32).rev().collect();
    for orders in [[None, None, None], [Some(&order); 3], [None, Some(&order), None]] {
        for paths in [[0, 3, 5], [3, 4, 4], [1, 2, 5]] {
            let held: Vec<_> = (paths.iter().zip(orders))
                .map(|(&path, order)| FourBitWeight::new(weights.four_bit(path), order.cloned()))
                .collect();
            for m in [0, 1, 5] {
                let x = Random(9).floats(m * K);
                let mut y: Vec<_> = held.iter().map(|w| vec![f32::NAN; m * w.n()]).collect();
                let [a, b, c] = &mut y[..] else { unreachable!() };
                let products = [(&held[0], &mut a[..]), (&held[1], &mut b[..]), (&held[2], &mut c[..])];
                let team = keepq_gemm::Team::new(2).unwrap();
                let driver = Driver::new(Tier::best(), &team);
                let mut buffer = ActBuf::new();
                driver.matmul_many_four_bit(&mut buffer.share(m, K, &x), products, &mut scratch).unwrap();
                for (w, y) in held.iter().zip(&y) {
                    assert_eq!(bits(y), product(w, m, &x, &mut scratch), "{paths:?}, m = {m}");
                }
            }
        }
    }
    let held = FourBitWeight::new(weights.four_bit(0), None);
    let (mut buffer, x, mut a, mut b) = (ActBuf::new(), [1.0; K], vec![7.0; N], vec![7.0; N - 1]);
    let products = [(&held, &mut a[..]), (&held, &mut b[..])];
    let driver = Driver::new(Tier::best(), &Serial);
    let found = driver.matmul_many_four_bit(&mut buffer.share(1, K, &x), products, &mut scratch);
    assert_eq!(found, Err(MatmulError::WrongOutput { m: 1, n: N, found: N - 1 }));
    assert!(a.iter().all(|&y| y == 7.0), "untouched");
}
