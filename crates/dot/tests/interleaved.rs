//! Where the bytes of interleaved rows stand, and what is refused.

use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::{Interleaved, ProductError};
use keepq_goldens::naive::TYPES;

/// Rows whose bytes tell the row and the place.
fn rows(ty: GgmlType, n: usize, k: usize) -> Vec<u8> {
    let row_bytes = ty.row_bytes(k).unwrap();
    (0..n).flat_map(|r| (0..row_bytes).map(move |at| (r * 31 + at * 7) as u8)).collect()
}

#[test]
fn memory_is_taken_where_it_is_large_enough() {
    let bytes = rows(GgmlType::Q5_0, 3, 64);
    let w = Matrix::new(GgmlType::Q5_0, 3, 64, &bytes).unwrap();
    let needed = Interleaved::bytes_for(&w);
    assert_eq!(needed, 8 * 2 * 22, "whole eights of rows");
    for len in [needed, needed + 100] {
        assert_eq!(Interleaved::in_memory(w, vec![0xaa; len]).unwrap().bytes(), needed);
    }
    let error = Interleaved::in_memory(w, vec![0; needed - 1]).unwrap_err();
    assert_eq!(error, ProductError::NoMemory { bytes: needed });
    assert_eq!(error.to_string(), "there is no memory for a copy of weights of 352 bytes");
}

#[test]
fn types_that_are_not_interleaved_are_refused() {
    for ty in TYPES {
        let (ty, k) = (ty.ty, ty.chunk());
        let bytes = rows(ty, 1, k);
        let copy = Interleaved::new(Matrix::new(ty, 1, k, &bytes).unwrap());
        let interleaves = !ty.name().contains('F') && ty != GgmlType::Q6_K;
        assert_eq!(Interleaved::supports(ty), interleaves, "{ty}");
        match copy {
            Ok(copy) => assert!(interleaves && (copy.ty(), copy.n(), copy.k()) == (ty, 1, k), "{ty}"),
            Err(error) => {
                assert!(!interleaves, "{ty}");
                let text = format!("{ty} weights are not interleaved: they are multiplied where they lie");
                assert_eq!(error.to_string(), text);
            }
        }
    }
}

#[test]
#[should_panic(expected = "rows 4..12 of 16, interleaved by 8")]
fn rows_begin_with_a_whole_eight() {
    let bytes = rows(GgmlType::Q4_0, 16, 32);
    let copy = Interleaved::new(Matrix::new(GgmlType::Q4_0, 16, 32, &bytes).unwrap()).unwrap();
    let _ = keepq_dot::WeightRows::rows(&copy.view(), 4..12);
}
