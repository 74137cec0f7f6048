//! The bits of the definitions, whoever computes them and how.

use half::bf16;
use keepq_gemm::{Driver, Executor, Rayon, Scratch, Serial, Team, W4A16Weight};
use keepq_simd::Tier;
use keepq_tinygemm::narrow;

use crate::weights::{Random, Weights, bits};

/// Large enough to be shared among threads, with a last strip that is not whole, and columns that are no whole blocks of the others.
#[test]
fn for_any_tier_thread_count_and_m() {
    let (rayon, teams) = (Rayon::new(2).unwrap(), [1, 2, 4].map(|threads| Team::new(threads).unwrap()));
    let mut executors: Vec<&dyn Executor> = vec![&Serial, &rayon];
    executors.extend(teams.iter().map(|team| team as &dyn Executor));
    let weights = Weights::new(208, 384, 128);
    let x = Random(8).floats(263 * 384);
    for (path, (name, n)) in weights.paths().into_iter().enumerate() {
        // Tiles of several sizes, and more tokens than are computed at a time.
        for m in [0, 1, 2, 3, 5, 6, 7, 8, 13, 64, 257, 263] {
            let (x, mut want) = (&x[..m * 384], vec![f32::NAN; m * n]);
            weights.define(path, m, x, &mut want);
            for tier in Tier::available() {
                for executor in &executors {
                    let mut y = vec![f32::NAN; m * n];
                    let driver = Driver::new(tier, *executor);
                    weights.multiply(path, &driver, m, x, &mut y, &mut Scratch::new()).unwrap();
                    assert_eq!(bits(&y), bits(&want), "{name} {driver:?} m = {m}");
                }
            }
        }
    }
}

/// A token alone and among others; scratch that another product was computed in.
#[test]
fn for_one_token_at_a_time_in_used_scratch() {
    let team = Team::new(2).unwrap();
    let weights = Weights::new(80, 512, 256);
    let (m, x) = (19, Random(9).floats(19 * 512));
    let (driver, mut scratch) = (Driver::new(Tier::best(), &team), Scratch::new());
    for (path, (name, n)) in weights.paths().into_iter().enumerate() {
        let mut all = vec![f32::NAN; m * n];
        weights.multiply(path, &driver, m, &x, &mut all, &mut scratch).unwrap();
        for t in 0..m {
            let mut y = vec![f32::NAN; n];
            weights.multiply(path, &driver, 1, &x[t * 512..][..512], &mut y, &mut scratch).unwrap();
            assert_eq!(bits(&y), bits(&all[t * n..][..n]), "{name} token {t}");
        }
    }
}

/// Rounded once, at the end.
#[test]
fn bf16_in_and_out() {
    let weights = Weights::new(96, 128, 64);
    let (mut scratch, mut random) = (Scratch::new(), Random(10));
    for m in [0, 1, 7, 40] {
        let x = random.bf16s(m * 128);
        let wide: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
        for layout in 0..3 {
            let (mut floats, mut want) = (vec![f32::NAN; m * 96], vec![bf16::NAN; m * 96]);
            weights.define(layout, m, &wide, &mut floats);
            narrow(&floats, &mut want);
            for tier in Tier::available() {
                let mut y = vec![bf16::NAN; m * 96];
                let w = W4A16Weight::from(weights.w4a16(layout));
                Driver::new(tier, &Serial).matmul_w4a16(m, &x, &w, &mut y, &mut scratch).unwrap();
                assert!(y == want, "{tier} layout {layout} m = {m}");
            }
        }
    }
    assert!(scratch.bytes() >= 40 * (128 + 96) * 4);
}
