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
        check(w, &[1, 9], &x);
    }
}

fn tokens(w: Weights<'_>, random: &mut Random) {
    // Up to 4 go together.
    let (counts, k) = ([0, 1, 2, 3, 4, 5, 8, 11], w.k());
    let mut x = random.floats(11 * k);
    check(w, &counts, &x);
    x.iter_mut().skip(k.saturating_sub(1)).step_by(2 * k.max(1)).for_each(|x| *x = f32::NAN);
    check(w, &counts, &x);
}

/// The first of the tokens `x`, as many as `counts` has in turn, the last of which is all.
fn check(w: Weights<'_>, counts: &[usize], x: &[f32]) {
    let (mut buffer, n, k) = (ActBuf::new(), w.n(), w.k());
    let most = counts[counts.len() - 1];
    let mut want = vec![f32::NAN; most * n];
    w.multiply(buffer.quantize(most, k, x).unwrap(), &mut want);
    for m in counts {
        let x = buffer.quantize(*m, k, &x[..m * k]).unwrap();
        for rows in [0..n, 0..32, n - 32..n] {
            let want = &want[..m * n];
            compare(want, n, &rows, &format!("k = {k}"), |tier, y| tier.w4a8_strip(w, rows.clone(), x, y));
        }
    }
}
