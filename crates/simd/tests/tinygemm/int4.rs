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
            for m in [0, 1, 2, 3, 5] {
                let mut x = random.floats(m * k);
                check(&w, m, &x);
                if let Some(x) = x.last_mut() {
                    *x = f32::NAN;
                }
                check(&w, m, &x);
            }
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
            check(&w, 3, &x);
            check(&w, 1, &x[..k]);
        }
    }
}

fn check(w: &QuantizedMatrixQ4, m: usize, x: &[f32]) {
    let (mut buffer, n) = (ActBuf::new(), w.n());
    let x = buffer.quantize(m, w.k(), x).unwrap();
    let mut want = vec![f32::NAN; m * n];
    linear_q4(x, w, &mut want);
    for rows in [0..n, n / 3..n, 0..n / 2, n..n] {
        compare(&want, n, &rows, &format!("k = {}", w.k()), |tier, y| tier.int4_strip(w, rows.clone(), x, y));
    }
}
