//! [`check`]: any bytes as blocks of a type, and any floats as elements of it.

use keepq_blocks::{EncodeError, GgmlType, Matrix, encode_row};
use keepq_goldens::naive::NaiveType;

/// Blocks of a row at most.
const BLOCKS: usize = 6;

/// What the bytes mean: a type, what kind of floats, then the bytes of blocks, or of floats. Decoding and encoding do as the naive
/// implementation does, refuse what is not finite, and what is said of elements without decoding them is true.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&[ty, kind, scale], rest)) = bytes.split_first_chunk() else { return };
    let types = GgmlType::ALL;
    let ty = types[usize::from(ty) % types.len()];
    decode(ty, &rest[..rest.len().min(BLOCKS * ty.block_bytes())]);

    let power = 2.0_f32.powi(i32::from(scale.cast_signed()));
    let floats: Vec<f32> = match kind % 2 {
        0 => rest.as_chunks::<4>().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect(),
        _ => rest.iter().map(|byte| f32::from(byte.cast_signed()) * power).collect(),
    };
    let k = floats.len().min(BLOCKS * ty.block_len()) / ty.block_len() * ty.block_len();
    encode(ty, &floats[..k]);
}

/// A NaN is any NaN.
fn same(a: &[f32], b: &[f32]) -> bool {
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn decode(ty: GgmlType, bytes: &[u8]) {
    let blocks = bytes.len() / ty.block_bytes();
    let bytes = &bytes[..blocks * ty.block_bytes()];
    let k = blocks * ty.block_len();
    let Ok(row) = Matrix::new(ty, 1, k, bytes) else { return };
    let mut elements = vec![0.0; k];
    row.decode_row(0, &mut elements).expect("one row");
    let naive = NaiveType::of(ty).expect("every type with a decoder");
    assert!(same(&elements, &naive.decode_row(bytes)), "{ty}");
    let damaged = elements.chunks(ty.block_len()).position(|block| block.iter().any(|element| !element.is_finite()));
    assert_eq!(row.first_not_finite(), damaged.map(|block| (0, block)), "{ty}");
    // What is decoded is encoded, unless it is not finite.
    encode(ty, &elements);
}

fn encode(ty: GgmlType, x: &[f32]) {
    let mut bytes = vec![0xa5; ty.row_bytes(x.len()).expect("whole blocks")];
    match encode_row(ty, x, &mut bytes) {
        Ok(()) => {
            let naive = NaiveType::of(ty).expect("every type with an encoder");
            if let Some(wanted) = naive.encode_row(x) {
                assert_eq!(bytes, wanted, "{ty}");
            }
            // A block does not depend on its neighbours.
            for (x, wanted) in x.chunks(ty.block_len()).zip(bytes.chunks(ty.block_bytes())) {
                let mut alone = vec![0; ty.block_bytes()];
                encode_row(ty, x, &mut alone).expect("as in the row");
                assert_eq!(alone, wanted, "{ty}");
            }
        }
        Err(EncodeError::NotFinite { index }) => {
            assert_eq!(x.iter().position(|v| !v.is_finite()), Some(index), "{ty}");
        }
        Err(error) => assert_eq!(error, EncodeError::Unsupported { ty }),
    }
}
