//! What a scratch holds, which its owner reports, and that it is enough wherever memory begins.

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::{Portable, Product, Scratch, strip};

/// Rows of a strip of many tokens.
const STRIP_ROWS: usize = 16;

/// Fits `scratch` to `m` tokens by a strip of zeros, and multiplies.
fn fit(scratch: &mut Scratch, ty: GgmlType, m: usize, k: usize) {
    let bytes = vec![0; STRIP_ROWS * ty.row_bytes(k).unwrap()];
    let (x, mut buffer, mut y) = (vec![1.0; m * k], ActBuf::new(), vec![f32::NAN; m * STRIP_ROWS]);
    let x = buffer.quantize(ActFormat::for_weights(ty).unwrap(), m, k, &x).unwrap();
    let product = Product::new(x, Matrix::new(ty, STRIP_ROWS, k, &bytes).unwrap()).unwrap();
    scratch.fit(&product);
    strip(Portable, product, &mut y, scratch);
    assert!(y.iter().all(|&v| v == 0.0), "{ty} m = {m}");
}

/// The bytes held after all of these.
fn bytes(products: &[(GgmlType, usize, usize)]) -> usize {
    let mut scratch = Scratch::new();
    products.iter().for_each(|&(ty, m, k)| fit(&mut scratch, ty, m, k));
    scratch.bytes()
}

#[test]
fn bytes_are_those_of_what_was_fitted() {
    let floats = (GgmlType::F32, 9, 10);
    assert_eq!(bytes(&[floats]), 0, "floats are multiplied where they lie");
    for ty in [GgmlType::Q4_0, GgmlType::Q4_K] {
        let (one, many) = ((ty, 1, 256), (ty, 40, 256));
        // A token's codes as i16; a byte a code, once rows are decoded for many tokens.
        assert!(bytes(&[one]) >= 2 * 256 && bytes(&[many]) >= bytes(&[one]) + STRIP_ROWS * 256, "{ty}");
        for product in [one, many] {
            assert_eq!(bytes(&[product, floats]), bytes(&[product]), "{ty}");
            assert_eq!(bytes(&[product, product, one]), bytes(&[product]), "{ty}: it fits as it is");
        }
    }
}
