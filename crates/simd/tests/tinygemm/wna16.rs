//! The fallback.

use keepq_tinygemm::wna16::{Weights, Zeros, pack};

use super::{Random, compare};

#[test]
fn results_are_the_definition_on_every_tier() {
    let mut random = Random(6);
    for (n, k, group) in [(16, 0, 32), (16, 32, 32), (48, 64, 32), (64, 128, 64), (80, 384, 128), (32, 512, 256)] {
        let groups = k / group;
        let (codes, scales) = (random.codes(n * k), random.bf16s(groups * n));
        let points: Vec<i32> = (0..groups * n / 8).map(|_| random.bits().cast_signed()).collect();
        let mut words = vec![0; n * k / 2];
        pack(n, k, &codes, &mut words).unwrap();
        for zeros in [Zeros::Eight, Zeros::Packed(&points)] {
            let w = Weights::new((n, k), group, &words, &scales, zeros).unwrap();
            check(w, &[0, 1, 2, 3, 4, 6, 7, 13], &random.floats(13 * k));
        }
    }
}

/// Infinities, NaN and denormals among scales and activations, and weights that are rounded to infinity.
#[test]
fn any_numbers_have_the_same_results() {
    let (n, k, m) = (48, 64, 8);
    let mut random = Random(7);
    let codes = random.codes(n * k);
    let mut words = vec![0; n * k / 2];
    pack(n, k, &codes, &mut words).unwrap();
    for largest in [false, true] {
        let scale = |x: f32| half::bf16::from_bits(if largest { 0x7f7f } else { (x.to_bits() >> 16) as u16 });
        let scales: Vec<_> = random.any(2 * n).into_iter().map(scale).collect();
        let w = Weights::new((n, k), 32, &words, &scales, Zeros::Eight).unwrap();
        check(w, &[m], &random.any(m * k));
        check(w, &[m], &vec![f32::from_bits(1); m * k]);
    }
}

/// The first of the tokens `x`, as many as `counts` has in turn, the last of which is all.
fn check(w: Weights<'_>, counts: &[usize], x: &[f32]) {
    let (n, k) = (w.n(), w.k());
    let mut want = vec![f32::NAN; counts[counts.len() - 1] * n];
    w.multiply(x, &mut want);
    for m in counts {
        let x = &x[..m * k];
        for rows in [0..n, 16..n, 0..16, n..n] {
            let want = &want[..m * n];
            compare(want, n, &rows, &format!("k = {k}"), |tier, y| tier.wna16_strip(w, rows.clone(), x, y));
        }
    }
}
