//! A row that is no whole number of blocks is refused by everything that takes one.

use keepq_blocks::{EncodeError, GgmlType, Matrix, MatrixError, encode_row};

#[test]
fn ragged_k_is_refused_by_matrices_and_encoders() {
    for &ty in GgmlType::ALL.iter().filter(|ty| ty.block_len() > 1) {
        let (len, bytes) = (ty.block_len(), ty.block_bytes());
        for k in [1, len / 2, len - 1, len + 1, 2 * len - 1] {
            assert_eq!(ty.row_bytes(k), None);
            // Whatever bytes come with it: too few, as many as fit, or one block more.
            for blocks in [k / len, k / len + 1] {
                let found = Matrix::new(ty, 1, k, &vec![0; blocks * bytes]).unwrap_err();
                assert_eq!(found, MatrixError::RaggedRow { ty, k });
                let found = encode_row(ty, &vec![0.0; k], &mut vec![0; blocks * bytes]).unwrap_err();
                assert_eq!(found, EncodeError::RaggedRow { ty, k });
            }
        }
    }
}
