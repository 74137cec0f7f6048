//! W4A8.

use keepq_tinygemm::ActBuf;
use keepq_tinygemm::w4a8::{Weights, pack, packed_bytes};

use super::{Random, compare};

#[test]
fn results_are_the_definition_on_every_tier() {
    let mut random = Random(4);
    for (n, k, group) in [(32, 0, 32), (32, 32, 32), (64, 96, 32), (96, 128, 64), (64, 384, 128), (128, 512, 256)] {
        let codes = random.codes(n * k);
        let scales = random.floats(n * (k / group));
        let random_zeros: Vec<i8> = (0..scales.len()).map(|_| random.bits() as i8).collect();
        for zeros in [random_zeros, vec![8; scales.len()], vec![-128; scales.len()], vec![127; scales.len()]] {
            let mut records = vec![0; packed_bytes(n, k, group).unwrap()];
            let w = pack((n, k), group, &codes, &scales, &zeros, &mut records).unwrap();
            tokens(w, &mut random);
        }
    }
}

/// All codes at one end and all activations at either: the largest sums that 16 bits have to hold.
#[test]
fn sums_do_not_overflow() {
    let (n, k, group) = (32, 256, 128);
    for (code, zero) in [(15, -128), (15, 127), (0, 127), (15, 8)] {
        let (scales, zeros) = (vec![1.0; 2 * n], vec![zero; 2 * n]);
        let mut records = vec![0; packed_bytes(n, k, group).unwrap()];
        let w = pack((n, k), group, &vec![code; n * k], &scales, &zeros, &mut records).unwrap();
        let x: Vec<f32> = (0..9 * k).map(|i| if i / k % 2 == 0 { 1.0 } else { -1.0 }).collect();
        check(w, &x, 9);
        check(w, &x[..k], 1);
    }
}

fn tokens(w: Weights<'_>, random: &mut Random) {
    // 1 to 4 directly, panels from 8 on.
    for m in [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12] {
        let mut x = random.floats(m * w.k());
        check(w, &x, m);
        if let Some(x) = x.last_mut() {
            *x = f32::NAN;
        }
        check(w, &x, m);
    }
}

fn check(w: Weights<'_>, x: &[f32], m: usize) {
    let (mut buffer, n) = (ActBuf::new(), w.n());
    let x = buffer.quantize(m, w.k(), x).unwrap();
    let mut want = vec![f32::NAN; m * n];
    w.multiply(x, &mut want);
    for rows in [0..n, 0..32, n - 32..n] {
        compare(&want, n, &rows, &format!("k = {}", w.k()), |tier, y| tier.w4a8_strip(w, rows.clone(), x, y));
    }
}
