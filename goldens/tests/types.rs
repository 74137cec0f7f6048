//! The geometry of every type id, against ggml's own table and the one of the Python package `gguf`.

use keepq_blocks::{GgmlType, TypeIdError};
use keepq_goldens::foreign::{Foreign, TypeRow, gguf_types};
use keepq_goldens::naive::{DECODED_TYPES, TYPES};

fn ours(ty: GgmlType) -> (u32, String, usize, usize) {
    (ty.id(), ty.name().to_ascii_lowercase(), ty.block_len(), ty.block_bytes())
}

fn theirs(row: &TypeRow) -> (u32, String, usize, usize) {
    (row.id, row.name.to_ascii_lowercase(), row.elements, row.bytes)
}

#[test]
fn every_id_of_ggml_is_known_with_its_geometry() {
    let table = Foreign::stored().types;
    let (removed, rows): (Vec<_>, Vec<_>) = table.iter().partition(|row| row.bytes == 0);
    let types: Vec<_> = GgmlType::ALL.iter().map(|&ty| ours(ty)).collect();
    assert_eq!(types, rows.into_iter().map(theirs).collect::<Vec<_>>());
    for row in &removed {
        assert!(matches!(GgmlType::from_id(row.id), Err(TypeIdError::Removed { .. })), "{row:?}");
    }
    assert_eq!(removed.len(), 8);
}

#[test]
fn the_python_table_differs_in_what_is_known_to_differ() {
    let table = gguf_types();
    for row in &table {
        let (id, name, elements, bytes) = ours(GgmlType::from_id(row.id).expect("a known id"));
        // The package counts Q8_1's two scales as f32; ggml has had f16 there since they were joined.
        let bytes = if name == "q8_1" { 40 } else { bytes };
        assert_eq!((id, name, elements, bytes), theirs(row));
    }
    let missing: Vec<_> =
        GgmlType::ALL.iter().filter(|ty| table.iter().all(|row| row.id != ty.id())).map(|ty| ty.name()).collect();
    assert_eq!(missing, ["Q2_0"], "newer than the package");
}

#[test]
fn the_naive_implementation_has_the_same_geometry() {
    for naive in TYPES.iter().chain(DECODED_TYPES) {
        assert_eq!((naive.elements, naive.bytes), (naive.ty.block_len(), naive.ty.block_bytes()), "{}", naive.ty);
    }
}
