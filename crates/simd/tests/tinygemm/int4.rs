//! Per-channel int4.

use keepq_tinygemm::ActBuf;
use keepq_tinygemm::int4::{QuantizedMatrixQ4, linear_q4};

use super::{Random, compare};

/// Rows end in the middle of fours and eights, k in the middle of bytes, of registers, of what is added up in 16 bits, and of a piece.
#[test]
fn results_are_the_definition_on_every_tier() {
    let mut random = Random(5);
    for n in [1, 3, 4, 7, 9, 70] {
        for k in [0, 1, 2, 63, 64, 65, 129, 255, 256, 257, 2047, 2048, 2049, 2305] {
            let w = QuantizedMatrixQ4::quantize(n, k, &random.floats(n * k)).unwrap();
            let mut x = random.floats(5 * k);
            check(&w, &[0, 1, 2, 3, 5], &x);
            x.iter_mut().skip(k.saturating_sub(1)).step_by(2 * k.max(1)).for_each(|x| *x = f32::NAN);
            check(&w, &[1, 2, 3, 5], &x);
        }
    }
}

/// All nibbles at one end, -8 among them, which is never made, and all activations at either.
#[test]
fn sums_do_not_overflow() {
    for k in [255_usize, 256, 4097] {
        for byte in [0x00_u8, 0xff, 0x0f, 0xf0] {
            let mut codes = vec![byte; 9 * k.div_ceil(2)];
            if k % 2 == 1 {
                codes.iter_mut().skip(k / 2).step_by(k.div_ceil(2)).for_each(|last| *last = *last & 15 | 0x80);
            }
            let w = QuantizedMatrixQ4::from_parts(9, k, codes, vec![0.7; 9]).unwrap();
            let x: Vec<f32> = (0..3 * k).map(|i| [1.0, -1.0, if i % 2 == 0 { 1.0 } else { -1.0 }][i / k]).collect();
            check(&w, &[1, 3], &x);
        }
    }
}

/// The first of the tokens `x`, as many as `counts` has in turn, the last of which is all.
fn check(w: &QuantizedMatrixQ4, counts: &[usize], x: &[f32]) {
    let (mut buffer, n, k) = (ActBuf::new(), w.n(), w.k());
    let most = counts[counts.len() - 1];
    let mut want = vec![f32::NAN; most * n];
    linear_q4(buffer.quantize(most, k, x).unwrap(), w, &mut want);
    for m in counts {
        let x = buffer.quantize(*m, k, &x[..m * k]).unwrap();
        for rows in [0..n, n / 3..n, 0..n / 2, n..n] {
            let want = &want[..m * n];
            compare(want, n, &rows, &format!("k = {k}"), |tier, y| tier.int4_strip(w, rows.clone(), x, y));
        }
    }
}
