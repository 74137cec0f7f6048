//! Integers are exact at their extremes, and what does not fit is refused.

use keepq_act::{ActBuf, ActFormat, ActRows};
use keepq_blocks::{BlockQ4_1, BlockQ8_0, F16, GgmlType, Matrix};
use keepq_dot::{Portable, Product, ProductError, Scratch, strip};

/// 16 blocks: 8,323,072 in magnitude, which an f32 still holds exactly.
const BLOCKS: usize = 16;
const K: usize = 32 * BLOCKS;

/// Every row by every token, for tokens that are multiplied in place and for those that are not.
fn products(w: Matrix<'_>, token: &[f32]) -> Vec<f32> {
    let mut all = Vec::new();
    for m in [1, 2, 3, 5] {
        let (mut buffer, mut scratch, tokens) = (ActBuf::new(), Scratch::new(), token.repeat(m));
        let x = buffer.quantize(ActFormat::Q8_0, m, K, &tokens).unwrap();
        let product = Product::new(x, w).unwrap();
        scratch.fit(&product);
        let mut y = vec![f32::NAN; m * w.n()];
        strip(Portable, product, &mut y, &mut scratch);
        all.extend(y);
    }
    all
}

#[test]
fn q8_0_codes_of_minus_128_by_127() {
    let one = F16::from_f32(1.0);
    for (code, x, want) in [(-128, 127.0, -128 * 127), (-128, -127.0, 128 * 127), (127, -127.0, -127 * 127)] {
        let blocks = vec![BlockQ8_0 { d: one, qs: [code; 32] }; 3 * BLOCKS];
        let w = Matrix::new(GgmlType::Q8_0, 3, K, bytemuck::cast_slice(&blocks)).unwrap();
        // amax = 127: the scale is 1 and the codes are the elements.
        for y in products(w, &[x; K]) {
            assert_eq!(y, (want * K as i32) as f32);
        }
    }
}

#[test]
fn q4_1_codes_of_15_and_sums_by_127() {
    let (d, m) = (F16::from_f32(2.0), F16::from_f32(-3.0));
    for (byte, x, want) in [(0xff, 127.0, (30 - 3) * 127), (0xff, -127.0, -(30 - 3) * 127), (0x00, 127.0, -3 * 127)] {
        let blocks = vec![BlockQ4_1 { d, m, qs: [byte; 16] }; 3 * BLOCKS];
        let w = Matrix::new(GgmlType::Q4_1, 3, K, bytemuck::cast_slice(&blocks)).unwrap();
        for y in products(w, &[x; K]) {
            assert_eq!(y, (want * K as i32) as f32);
        }
    }
}

#[test]
fn pairs_that_do_not_fit_are_refused() {
    let bytes = [0; 68];
    let w = Matrix::new(GgmlType::Q8_0, 1, 64, &bytes).unwrap();
    let mut buffer = ActBuf::new();
    // Activations of 33 elements cannot be made at all; of 32 they are whole blocks, but not this row's.
    let x = buffer.quantize(ActFormat::Q8_0, 1, 32, &[0.0; 32]).unwrap();
    assert_eq!(Product::new(x, w).unwrap_err(), ProductError::WrongK { weights: 64, activations: 32 });
    let x = ActRows::f32(1, 64, &[0.0; 64]).unwrap();
    let (wanted, found) = (ActFormat::Q8_0, ActFormat::F32);
    assert_eq!(Product::new(x, w).unwrap_err(), ProductError::WrongFormat { ty: GgmlType::Q8_0, wanted, found });
    // Float rows may have any length, but have to have the same.
    let w = Matrix::new(GgmlType::F32, 1, 17, &bytes).unwrap();
    let x = ActRows::f32(1, 16, &[0.0; 16]).unwrap();
    assert_eq!(Product::new(x, w).unwrap_err(), ProductError::WrongK { weights: 17, activations: 16 });
}
