//! ggml's own thresholds for a type, unwidened, on the data of its own test.

mod common;

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{GgmlType, Matrix, encode_row};
use keepq_dot::Product;
use keepq_goldens::naive::{Encoder, TYPES};

/// Elements of a row in ggml's `test-quantize-fns`.
const K: usize = 32 * 128;

const REFERENCE_ERROR: f64 = 0.0001;

const fn total_error(ty: GgmlType) -> f64 {
    match ty {
        GgmlType::Q2_K => 0.0075,
        GgmlType::Q3_K => 0.0040,
        _ => 0.002,
    }
}

const fn dot_error(ty: GgmlType) -> f64 {
    match ty {
        GgmlType::Q2_K => 0.04,
        _ => 0.02,
    }
}

fn data(offset: f64) -> Vec<f32> {
    (0..K).map(|i| (0.1 + 2.0 * (i as f64 + offset).cos()) as f32).collect()
}

/// As ggml defines it: the root of the sum, not of the mean, over the number of elements.
fn error(a: &[f32], b: &[f32]) -> f64 {
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    a.iter().zip(b).map(square).sum::<f64>().sqrt() / a.len() as f64
}

fn encoded(ty: GgmlType, x: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; ty.row_bytes(x.len()).unwrap()];
    encode_row(ty, x, &mut bytes).unwrap();
    bytes
}

fn decoded(ty: GgmlType, bytes: &[u8]) -> Vec<f32> {
    let mut x = vec![0.0; K];
    Matrix::new(ty, 1, K, bytes).unwrap().decode_row(0, &mut x).unwrap();
    x
}

#[test]
fn quantization_errors() {
    let x = data(0.0);
    for naive in TYPES {
        let ours = decoded(naive.ty, &encoded(naive.ty, &x));
        let total = error(&x, &ours);
        assert!(total <= total_error(naive.ty), "{}: {total}", naive.ty);
        assert!(total > 0.0 || naive.ty == GgmlType::F32, "{}: nothing was quantized", naive.ty);
        // Bytes that a search finds are ggml's own (goldens/foreign), and decode to the same.
        let bytes = match naive.encoder {
            Encoder::Naive(_) => naive.encode_row(&x).expect("there is an encoder"),
            _ => encoded(naive.ty, &x),
        };
        let reference = error(&ours, &naive.decode_row(&bytes));
        assert!(reference <= REFERENCE_ERROR, "{}: {reference}", naive.ty);
    }
}

#[test]
fn dot_errors() {
    let (w, x) = (data(0.0), data(1.0));
    let exact: f64 = w.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
    for ty in TYPES.iter().map(|naive| naive.ty) {
        let bytes = encoded(ty, &w);
        let mut buffer = ActBuf::new();
        let x = buffer.quantize(ActFormat::for_weights(ty).unwrap(), 1, K, &x).unwrap();
        let product = Product::new(x, Matrix::new(ty, 1, K, &bytes).unwrap()).unwrap();
        let y = common::products(product);
        let error = (f64::from(y[0]) - exact).abs() / K as f64;
        assert!(error <= dot_error(ty), "{ty}: {error}");
    }
}
