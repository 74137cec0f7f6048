//! Bytes equal those of the naive implementation (which equal ggml's) for any input there is, not only for golden rows.

use keepq_blocks::{Matrix, encode_row};
use keepq_goldens::Output;
use keepq_goldens::naive::{DECODED_TYPES, TYPES};
use proptest::prelude::*;

/// Finite floats of any bits: exponents are uniform, so that most blocks mix magnitudes.
fn finite() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits).prop_filter("weights are finite", |v| v.is_finite())
}

/// Elements of one magnitude, as weights are.
fn block_of_one_magnitude() -> impl Strategy<Value = Vec<f32>> {
    (-140..127_i32, prop::collection::vec(-1.0..1.0_f32, 32))
        .prop_map(|(exponent, x)| x.into_iter().map(|v| v * 2.0_f32.powi(exponent)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_finite_elements_are_encoded_as_numerics_says(
        mixed in prop::collection::vec(finite(), 32),
        alike in block_of_one_magnitude(),
    ) {
        let x = [mixed, alike].concat();
        for ty in TYPES {
            // Those of K-quants are ggml's own in tests of their own.
            let Some(want) = ty.encode_row(&x) else { continue };
            let mut bytes = vec![0; want.len()];
            encode_row(ty.ty, &x, &mut bytes).unwrap();
            prop_assert_eq!(bytes, want, "{}", ty.ty);
        }
    }

    #[test]
    fn any_bytes_are_decoded_as_numerics_says(bytes in prop::collection::vec(any::<u8>(), 2 * 210)) {
        for ty in TYPES.iter().chain(DECODED_TYPES) {
            let bytes = &bytes[..bytes.len() / ty.bytes * ty.bytes];
            let k = bytes.len() / ty.bytes * ty.elements;
            let mut row = vec![0.0; k];
            Matrix::new(ty.ty, 1, k, bytes).unwrap().decode_row(0, &mut row).unwrap();
            let want = Output::of_floats(&ty.decode_row(bytes));
            prop_assert_eq!(Output::of_floats(&row), want, "{}", ty.ty);
        }
    }
}
