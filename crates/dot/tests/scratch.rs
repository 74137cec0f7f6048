//! What a scratch holds, which its owner reports, and that it is enough wherever memory begins.

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::{Portable, Product, STRIP_ROWS, Scratch, strip};

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

#[test]
fn bytes_are_those_of_what_was_fitted() {
    let mut scratch = Scratch::new();
    fit(&mut scratch, GgmlType::F32, 2, 10);
    assert_eq!(scratch.bytes(), 0, "two tokens by floats need none");
    // A token's codes as i16, and a cache line to begin at.
    fit(&mut scratch, GgmlType::Q4_0, 1, 64);
    assert_eq!(scratch.bytes(), 2 * 64 + 64);
    fit(&mut scratch, GgmlType::Q4_0, 1, 32);
    assert_eq!(scratch.bytes(), 2 * 64 + 64, "it fits as it is");
    // A strip of floats, and a cache line to begin at.
    let floats = 4 * STRIP_ROWS * 10 + 64;
    fit(&mut scratch, GgmlType::F32, 3, 10);
    assert_eq!(scratch.bytes(), 2 * 64 + 64 + floats);
    // Of two groups: codes and minimums of a strip's rows as floats, scales and minimums of the blocks; tokens besides.
    let (groups, heads) = (2 * 4 * STRIP_ROWS * (32 + 2), 2 * 4 * STRIP_ROWS * 2);
    fit(&mut scratch, GgmlType::Q4_0, 3, 64);
    let tokens = scratch.bytes() - (2 * 64 + 64 + floats + groups + heads);
    assert!(tokens > 0 && tokens.is_multiple_of(4 * 32), "{tokens}");
}

/// Where memory begins is the allocator's choice: vectors of many lengths begin at many places.
#[test]
fn a_strip_of_floats_fits_wherever_memory_begins() {
    for k in 1..200 {
        fit(&mut Scratch::new(), GgmlType::BF16, 3, k);
    }
}
