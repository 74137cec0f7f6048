//! Float weights against the definition, written once more: at every edge of a tile, of a block of eights and of an eight.

mod common;

use keepq_act::ActRows;
use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::Product;
use keepq_goldens::inputs::Floats;

/// `y[t * n + r]` by one fused step an element.
fn by_definition(w: &[f32], x: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<u32> {
    let dot = |t: usize, r: usize| {
        let mut p = [0.0_f32; 8];
        for i in 0..k {
            p[i % 8] = w[r * k + i].mul_add(x[t * k + i], p[i % 8]);
        }
        (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))).to_bits()
    };
    (0..m * n).map(|i| dot(i / n, i % n)).collect()
}

fn check(shape @ (m, n, k): (usize, usize, usize)) {
    let (x, mut w) = (Floats::Gaussian.row(m * k, 7), Floats::Asymmetric.row(n * k, 8));
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        let mut bytes = vec![0; ty.row_bytes(n * k).unwrap()];
        keepq_blocks::encode_row(ty, &w, &mut bytes).unwrap();
        // Of the two-byte types the elements are what was stored; later ones take what an earlier one left.
        Matrix::new(ty, 1, n * k, &bytes).unwrap().decode_row(0, &mut w).unwrap();
        let product = Product::new(ActRows::f32(m, k, &x).unwrap(), Matrix::new(ty, n, k, &bytes).unwrap()).unwrap();
        let got: Vec<u32> = common::products(product).iter().map(|v| v.to_bits()).collect();
        assert_eq!(got, by_definition(&w, &x, shape), "{ty} {shape:?}");
    }
}

#[test]
fn rows_and_tokens_about_every_tile() {
    for n in 1..=16 {
        for m in 1..=13 {
            check((m, n, 19));
        }
    }
}

#[test]
fn elements_about_every_eight_and_block() {
    for k in [0, 1, 7, 8, 9, 15, 16, 63, 64, 65, 71, 72, 127, 128, 129, 395] {
        for m in [1, 2, 3, 4, 5, 8, 9, 11] {
            check((m, 5, k));
        }
    }
}

/// As many rows as a strip of a few tokens has, which lie in streams far apart, and some fewer.
#[test]
fn rows_of_long_strips() {
    for n in [17, 31, 113, 119, 120] {
        for m in 1..=6 {
            check((m, n, 19));
        }
    }
}

/// Products that underflow make the sums -0, which elements that are not there must leave alone.
#[test]
fn a_sum_of_minus_zeros() {
    let k = 9;
    for m in [1, 2, 9, 10] {
        let (w, x) = (vec![-1e-30; k], vec![1e-30; m * k]);
        let bytes: Vec<u8> = w.iter().flat_map(|v: &f32| v.to_le_bytes()).collect();
        let w = Matrix::new(GgmlType::F32, 1, k, &bytes).unwrap();
        let y = common::products(Product::new(ActRows::f32(m, k, &x).unwrap(), w).unwrap());
        assert!(y.iter().all(|v| v.to_bits() == (-0.0_f32).to_bits()), "{y:?}");
    }
}
