//! `xtask verify`: blocks that are not finite, by tensor, row and block.

use std::path::Path;
use std::process::Output;

use keepq_blocks::Matrix;
use keepq_gguf::GgmlType;
use keepq_gguf::write::Writer;
use serde_json::{Value, json};

use crate::support::{printed, synthetic, temporary_folder, xtask};

/// Rows of a tensor, and blocks of a row.
const ROWS: usize = 70;
const BLOCKS: usize = 5;

/// Zeros, which are finite in every type, but for these blocks of ones, which are not.
fn rows(ty: GgmlType, damaged: &[(usize, usize)]) -> Vec<u8> {
    let block = ty.block_bytes();
    let mut bytes = vec![0; ROWS * BLOCKS * block];
    for (row, index) in damaged {
        bytes[(row * BLOCKS + index) * block..][..block].fill(0xff);
    }
    bytes
}

/// The types that can be decoded.
fn types() -> impl Iterator<Item = GgmlType> {
    GgmlType::ALL.iter().copied().filter(|&ty| Matrix::new(ty, 1, ty.block_len(), &vec![0; ty.block_bytes()]).is_ok())
}

/// Writes a tensor of each type, called as its type.
fn write(path: &Path, damaged: &[(usize, usize)]) {
    let mut writer = Writer::new();
    for ty in types() {
        let bytes = rows(ty, damaged);
        let dims = [(BLOCKS * ty.block_len()) as u64, (ROWS / 7) as u64, 7];
        writer.tensor_with(ty.name(), ty, &dims, move |out| out.write_all(&bytes)).expect("a tensor");
    }
    writer.tensor("undecoded", GgmlType::IQ2_S, &[256], &[0xff; 82]).expect("a tensor");
    writer.write_file(path).expect("a written file");
}

#[test]
fn every_type_is_looked_at_and_every_block_is_named() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    write(&path, &[(3, 4), (69, 0), (3, 1)]);
    for threads in ["1", "2", "5"] {
        let output = xtask(["verify", "--json", "--threads", threads]).arg(&path).output().expect("it starts");
        let Output { status, stdout, stderr } = output;
        assert_eq!(status.code(), Some(1));
        let (count, path) = (types().count(), path.display());
        assert!(count >= 16, "{count} types");
        let line = format!("error: {path}: {} blocks are not finite, in {count} of {} tensors\n", 3 * count, count + 1);
        assert_eq!(String::from_utf8_lossy(&stderr), line);

        let report: Value = serde_json::from_slice(&stdout).expect("JSON");
        let wanted = |ty: GgmlType| json!({ "name": ty.name(), "type": ty.name(), "blocks": 3, "first": [[3, 1], [3, 4], [69, 0]] });
        assert_eq!(report["damaged"], types().map(wanted).collect::<Value>());
        assert_eq!(report["damaged_blocks"], 3 * count);
        assert_eq!(report["not_looked_at"][0]["name"], "undecoded");
    }
}

#[test]
fn of_many_damaged_blocks_the_first_are_named_and_all_are_counted() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    let damaged: Vec<_> = (20..70).flat_map(|row| (0..BLOCKS).map(move |block| (row, block))).collect();
    let bytes = rows(GgmlType::Q4_K, &damaged);
    let mut writer = Writer::new();
    writer.tensor("fine", GgmlType::F32, &[2], &[0; 8]).expect("a tensor");
    writer.tensor("w", GgmlType::Q4_K, &[256 * BLOCKS as u64, ROWS as u64], &bytes).expect("a tensor");
    writer.write_file(&path).expect("a written file");

    let output = xtask(["verify"]).arg(&path).output().expect("it starts");
    assert!(!output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    insta::assert_snapshot!(text);
}

#[test]
fn a_file_without_damage_is_one_line() {
    let text = printed(xtask(["verify"]).arg(synthetic()));
    assert!(text.lines().count() == 1 && text.ends_with(": all elements are finite\n"), "{text}");
    let text = printed(xtask(["verify", "--speed", "--threads=2"]).arg(synthetic()));
    assert!(text.contains(" times as long as reading the bytes ("), "{text}");
}

#[test]
fn what_cannot_be_decoded_is_said_not_to_have_been_looked_at() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    write(&path, &[]);
    let text = printed(xtask(["verify"]).arg(&path));
    let line = "not looked at: undecoded: IQ2_S: this version cannot decode it\n";
    assert!(text.starts_with(line) && text.ends_with("all elements are finite\n"), "{text}");
}
