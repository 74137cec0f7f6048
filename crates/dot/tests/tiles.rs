//! Sizes below, at and above the edges of panels and tiles: rows, tokens, and blocks of a row.

mod common;

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_dot::{Product, strip_rows};
use keepq_goldens::inputs::{Floats, Weights};
use keepq_goldens::naive::{NaiveType, TYPES};

/// Elements of k that a panel holds.
const DEPTH: usize = 1024;

/// Multiplies, in each way there is, and compares the last token and row with the definition.
fn check(ty: &NaiveType, n: usize, m: usize, k: usize) {
    let rows: Vec<u8> = (0..n as u64).flat_map(|r| Weights::Codes.row(ty, k, r)).collect();
    let tokens: Vec<f32> = (0..m as u64).flat_map(|t| Floats::Gaussian.row(k, 100 + t)).collect();
    let mut buffer = ActBuf::new();
    let x = buffer.quantize(ActFormat::for_weights(ty.ty).unwrap(), m, k, &tokens).unwrap();
    let y = common::products(Product::new(x, Matrix::new(ty.ty, n, k, &rows).unwrap()).unwrap());
    let row = &rows[(n - 1) * rows.len() / n..];
    let want = ty.dot(row, &tokens[(m - 1) * k..]);
    assert_eq!(y[m * n - 1].to_bits(), want.to_bits(), "{} {m} by {n}, k = {k}", ty.ty);
}

fn quantized() -> impl Iterator<Item = &'static NaiveType> {
    TYPES.iter().copied().filter(|ty| !ty.is_float())
}

#[test]
fn rows_and_tokens_at_the_edges_of_a_tile() {
    for ty in quantized() {
        for m in 1..=13 {
            let most = strip_rows(m);
            for n in [1, 7, 8, 9, 15, 16, most - 8, most - 7, most - 1, most].into_iter().filter(|&n| n <= most) {
                check(ty, n, m, 256);
            }
        }
    }
}

#[test]
fn k_at_the_edges_of_a_panel() {
    for ty in quantized() {
        for k in [DEPTH - ty.elements, DEPTH, DEPTH + ty.elements, 2 * DEPTH, 2 * DEPTH + ty.elements] {
            for (n, m) in [(strip_rows(8), 8), (5, 7), (9, 3)] {
                check(ty, n, m, k);
            }
        }
    }
}

/// The last eight blocks of a row that are summed up together may be fewer.
#[test]
fn every_number_of_blocks() {
    for ty in quantized() {
        for blocks in 1..=17 {
            check(ty, 3, 1, blocks * ty.elements);
            check(ty, 3, 7, blocks * ty.elements);
        }
    }
}
