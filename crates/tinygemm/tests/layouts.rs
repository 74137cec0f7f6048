//! Every code lies where the table of the layouts puts it, comes back from there, and what is no such matrix is refused.

use keepq_tinygemm::w4a16::{Layout, Packed, PackedError, pack, packed_bytes};
use proptest::prelude::*;

/// Up to two full blocks of 64 and every width of a last block.
const MAX_N: usize = 176;
const MAX_K: usize = 10;

/// Legal small shapes, those without a row or a column included.
fn shapes() -> impl Iterator<Item = (usize, usize)> {
    (0..=MAX_N).step_by(16).flat_map(|n| (0..=MAX_K).step_by(2).map(move |k| (n, k)))
}

/// The bytes as the table of the layouts reads: block by block and byte by byte, where the crate goes by rows.
fn naive(layout: Layout, n: usize, k: usize, codes: &[u8]) -> Vec<u8> {
    let block = if layout == Layout::Avx512 { 64 } else { 32 };
    let mut bytes = vec![0; n * k / 2];
    for b in 0..n.div_ceil(block) {
        let n0 = b * block;
        let w = if n - n0 < block { n - n0 } else { block };
        for column in 0..k {
            for d in 0..w / 2 {
                let (low, high) = match (layout, w) {
                    (Layout::Avx512, 64) => (n0 + d, n0 + d + 32),
                    (Layout::Avx2, 32) => (n0 + d, n0 + d + 16),
                    _ => (n0 + 2 * d, n0 + 2 * d + 1),
                };
                bytes[n0 * k / 2 + column * (w / 2) + d] = codes[low * k + column] + 16 * codes[high * k + column];
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn codes_lie_where_the_table_says_and_come_back(all in prop::collection::vec(0..16_u8, MAX_N * MAX_K)) {
        for (n, k) in shapes() {
            for layout in Layout::ALL {
                let codes = &all[..n * k];
                // Whatever was in the caller's bytes before is gone.
                let mut bytes = vec![0xa5; packed_bytes(n, k).unwrap()];
                let packed = pack(layout, n, k, codes, &mut bytes).unwrap();
                prop_assert_eq!((packed.layout(), packed.n(), packed.k()), (layout, n, k));
                prop_assert_eq!(packed.bytes(), naive(layout, n, k, codes), "{:?} [{},{}]", layout, n, k);

                let mut unpacked = vec![0xa5; n * k];
                packed.unpack(&mut unpacked).unwrap();
                prop_assert_eq!(&unpacked, codes, "{:?} [{},{}]", layout, n, k);
                for row in 0..n {
                    let want = &codes[row * k..][..k];
                    prop_assert_eq!(packed.row(row).unwrap().len(), k);
                    prop_assert_eq!(packed.row(row).unwrap().collect::<Vec<_>>(), want);
                    prop_assert!((0..k).all(|column| packed.code(row, column) == Some(want[column])));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_codes_that_pack_to_them(all in prop::collection::vec(any::<u8>(), MAX_N * MAX_K / 2)) {
        for (n, k) in shapes() {
            for layout in Layout::ALL {
                let bytes = &all[..n * k / 2];
                let (mut codes, mut again) = (vec![0; n * k], vec![0; n * k / 2]);
                Packed::new(layout, n, k, bytes).unwrap().unpack(&mut codes).unwrap();
                pack(layout, n, k, &codes, &mut again).unwrap();
                prop_assert_eq!(&again, bytes, "{:?} [{},{}]", layout, n, k);
            }
        }
    }
}

#[test]
fn blocks_are_those_of_the_instruction_set() {
    assert_eq!(Layout::ALL.map(Layout::block), [64, 32, 32]);
}

#[test]
fn shapes_that_no_packer_makes_are_refused() {
    for layout in Layout::ALL {
        for n in (0..=MAX_N).filter(|n| n % 16 != 0).chain([usize::MAX]) {
            assert_eq!(Packed::new(layout, n, 2, &[]).unwrap_err(), PackedError::RaggedRows { n });
            assert_eq!(pack(layout, n, 2, &[], &mut []).unwrap_err(), PackedError::RaggedRows { n });
        }
        for k in [1, 3, usize::MAX] {
            assert_eq!(Packed::new(layout, 16, k, &[]).unwrap_err(), PackedError::OddK { k });
            assert_eq!(pack(layout, 16, k, &[], &mut []).unwrap_err(), PackedError::OddK { k });
        }
        let (n, k) = (16, usize::MAX - 1);
        assert_eq!(Packed::new(layout, n, k, &[]).unwrap_err(), PackedError::TooLarge { n, k });
        assert_eq!(pack(layout, n, k, &[], &mut []).unwrap_err(), PackedError::TooLarge { n, k });
    }
}

#[test]
fn lengths_are_checked_and_nothing_is_written() {
    let (n, k) = (16, 4);
    for found in [0, 31, 33] {
        let error = PackedError::PackedLength { n, k, expected: 32, found };
        assert_eq!(Packed::new(Layout::Avx2, n, k, &vec![0; found]).unwrap_err(), error);
        assert_eq!(pack(Layout::Avx2, n, k, &[0; 64], &mut vec![0; found]).unwrap_err(), error);
    }
    for found in [0, 63, 65] {
        let error = PackedError::CodesLength { n, k, expected: 64, found };
        let mut bytes = [0xa5; 32];
        assert_eq!(pack(Layout::Avx2, n, k, &vec![0; found], &mut bytes).unwrap_err(), error);
        assert_eq!(bytes, [0xa5; 32]);
        let packed = Packed::new(Layout::Avx2, n, k, &bytes).unwrap();
        let mut codes = vec![0xff; found];
        assert_eq!(packed.unpack(&mut codes), Err(error));
        assert!(codes.iter().all(|&code| code == 0xff));
    }
}

#[test]
fn a_code_above_15_is_refused_by_row_and_column_and_nothing_is_written() {
    for (row, column, code) in [(0, 0, 16), (70, 3, 255), (79, 5, 128)] {
        let mut codes = [15; 80 * 6];
        codes[row * 6 + column] = code;
        let mut bytes = [0xa5; 80 * 3];
        for layout in Layout::ALL {
            let error = pack(layout, 80, 6, &codes, &mut bytes).unwrap_err();
            assert_eq!(error, PackedError::CodeOutOfRange { row, column, code });
        }
        assert_eq!(bytes, [0xa5; 80 * 3]);
    }
}

#[test]
fn rows_and_columns_that_are_not_there_are_none() {
    let packed = Packed::new(Layout::Scalar, 16, 2, &[0x21; 16]).unwrap();
    assert_eq!((packed.code(14, 1), packed.code(15, 1)), (Some(1), Some(2)));
    assert!(packed.row(16).is_none());
    assert_eq!((packed.code(16, 0), packed.code(0, 2), packed.code(0, usize::MAX)), (None, None, None));
}

#[test]
fn errors_say_what_was_wanted_and_what_was_found() {
    for (error, text) in [
        (PackedError::RaggedRows { n: 40 }, "int4pack: 40 rows are no multiple of 16"),
        (PackedError::OddK { k: 7 }, "int4pack: rows of 7 codes: k must be even"),
        (
            PackedError::PackedLength { n: 16, k: 4, expected: 32, found: 31 },
            "int4pack: 16 rows of 4 codes take 32 packed bytes, found 31",
        ),
        (PackedError::CodeOutOfRange { row: 3, column: 9, code: 16 }, "int4pack: row 3, column 9: code 16 is above 15"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
