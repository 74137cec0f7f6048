//! `xtask inspect`.

use std::fs;

use keepq_gguf::GgmlType;
use serde_json::{Value, json};

use crate::support::{Changes, changed, printed, synthetic, temporary_folder, xtask};

#[test]
fn json_holds_keys_tensors_and_totals() {
    let text = printed(xtask(["inspect", "--json"]).arg(synthetic()));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["bytes"], fs::metadata(synthetic()).expect("a file").len());
    assert_eq!(json["metadata"]["llama.embedding_length"], 512);
    assert_eq!(json["metadata"]["tokenizer.ggml.tokens"]["len"], 320);
    let tensors = json["tensors"].as_array().expect("tensors");
    let embedding = tensors.iter().find(|tensor| tensor["name"] == "token_embd.weight").expect("an embedding");
    assert_eq!((&embedding["type"], &embedding["shape"]), (&json!("Q6_K"), &json!([512, 320])));
    assert_eq!(embedding["bytes"], 320 * 2 * 210);
    let totals = json["totals"].as_array().expect("totals");
    let types: Vec<_> = totals.iter().map(|total| total["type"].as_str().expect("a type")).collect();
    assert_eq!(types.join(" "), "F32 F16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K BF16");
    let count: u64 = totals.iter().map(|total| total["tensors"].as_u64().expect("a number")).sum();
    assert_eq!(count, tensors.len() as u64);
    assert_eq!(json["unknown_types"], json!([]));
}

#[test]
fn the_table_is_short_and_has_every_tensor() {
    let text = printed(xtask(["inspect"]).arg(synthetic()));
    assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
    assert!(
        text.lines().any(|line| line.split_whitespace().take(3).eq(["blk.3.ffn_down.weight", "Q4_1", "416x512"])),
        "{text}"
    );
}

#[test]
fn types_that_do_not_run_here_are_listed_all_the_same() {
    let dir = temporary_folder();
    let file = dir.path().join("model.gguf");
    let tensor = Some(("blk.0.ffn_up.weight", GgmlType::IQ2_S, [512, 416]));
    changed(&file, &Changes { tensor, ..Changes::default() });
    let table = printed(xtask(["inspect"]).arg(&file));
    assert!(table.lines().any(|line| line.starts_with("blk.0.ffn_up.weight") && line.contains("IQ2_S")), "{table}");

    // A type id from the future, where that of the tensor stood.
    let mut bytes = fs::read(&file).expect("a file");
    let name = b"blk.0.ffn_up.weight";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the name") + name.len() + 4 + 16;
    assert_eq!(bytes[at..at + 4], GgmlType::IQ2_S.id().to_le_bytes());
    bytes[at..at + 4].copy_from_slice(&999_u32.to_le_bytes());
    fs::write(&file, bytes).expect("a written file");
    let json: Value = serde_json::from_str(&printed(xtask(["inspect", "--json"]).arg(&file))).expect("JSON");
    assert!(json["unknown_types"][0].as_str().expect("a line").contains("999"), "{}", json["unknown_types"]);
}
