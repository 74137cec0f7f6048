//! Elements that are not finite: refused when they are encoded, found by row and block in weights.

use keepq_blocks::{EncodeError, GgmlType, Matrix, encode_row};

#[test]
fn none_is_encoded_and_the_first_is_named() {
    for &ty in GgmlType::ALL {
        let (k, mut out) = (2 * ty.block_len(), vec![0; 2 * ty.block_bytes()]);
        if encode_row(ty, &vec![0.0; k], &mut out).is_err() {
            continue;
        }
        let zeros = out.clone();
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for index in [0, k / 2, k - 1] {
                let mut x = vec![1.0; k];
                (x[index], x[k - 1]) = (odd, odd);
                assert_eq!(encode_row(ty, &x, &mut out), Err(EncodeError::NotFinite { index }), "{ty} {odd}");
            }
        }
        assert_eq!(out, zeros, "{ty}: nothing is written");
    }
}

#[test]
fn a_damaged_scale_is_found_in_its_row_and_block() {
    // Four rows of three blocks; the scale is the first thing in each, and infinite.
    let (n, blocks, bytes) = (4, 3, 34);
    for damaged in 0..n * blocks {
        let mut rows = vec![1; n * blocks * bytes];
        rows[damaged * bytes..][..2].copy_from_slice(&0x7c00_u16.to_le_bytes());
        rows[(n * blocks - 1) * bytes..][..2].copy_from_slice(&0x7e00_u16.to_le_bytes());
        let matrix = Matrix::new(GgmlType::Q8_0, n, 32 * blocks, &rows).unwrap();
        assert_eq!(matrix.first_not_finite(), Some((damaged / blocks, damaged % blocks)));
    }
}
