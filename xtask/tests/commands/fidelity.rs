//! `xtask fidelity` on the synthetic model.

use std::fs;

use serde_json::{Value, json};

use crate::support::{printed, refusal, synthetic, temporary_folder, xtask};

/// Weights that are bf16 are the reference's own: nothing is far from it. Fewer bits are further.
#[test]
fn what_is_the_reference_is_no_way_from_it_and_fewer_bits_are_further() {
    let folder = temporary_folder();
    let picture = folder.path().join("fidelity.svg");
    let mut command = xtask([
        "fidelity",
        "--json",
        "--type=BF16,Q8_0,Q4_0",
        "--path=w4a16,w4a8",
        "--tokens=70",
        "--window=32",
        "--gen-len=4",
    ]);
    let text = printed(command.arg("--plot").arg(&picture).arg("--model").arg(synthetic()));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<_> = lines.iter().map(|line| line["row"].as_str().expect("a name")).collect();
    assert_eq!(names[..5], ["bf16", "stored", "BF16", "Q8_0", "Q4_0"]);
    let of_paths = ["w4a16 group 32", "w4a8 group 32 symmetric", "w4a8 group 32 asymmetric"];
    assert!(of_paths.iter().all(|name| names[5..].contains(name)), "{names:?}");
    assert_eq!((&lines[0]["tokens"], &lines[0]["prompts"]), (&json!(70), &json!(12)));

    let [bf16, q8_0, q4_0] = [2, 3, 4].map(|row: usize| &lines[row]);
    let nothing = json!({ "mean": 0.0, "median": 0.0, "p99": 0.0, "largest": 0.0 });
    assert_eq!((&bf16["kl"], &bf16["flips"], &bf16["reproduced"]), (&nothing, &json!(0), &json!(12)));
    assert_eq!((&bf16["perplexity_ratio"], &bf16["bits_per_weight"]), (&json!(1.0), &json!(16.0)));
    assert_eq!((&bf16["perplexity"], &bf16["positions"]), (&lines[0]["perplexity"], &json!(70)));
    let number = |row: &Value, key: &str| row.pointer(key).and_then(Value::as_f64).expect("a number");
    assert!(number(q8_0, "/kl/mean") > 0.0);
    assert!(number(q4_0, "/kl/mean") > 2.0 * number(q8_0, "/kl/mean"), "{text}");
    for row in &lines[5..] {
        let bits = number(row, "/bits_per_weight");
        assert!(number(row, "/kl/mean") > number(q8_0, "/kl/mean") && (4.0..7.0).contains(&bits), "{row}");
    }
    assert!(number(q4_0, "/bits_per_weight") < number(q8_0, "/bits_per_weight"));

    let picture = fs::read_to_string(picture).expect("a picture");
    assert!(picture.contains("Q4_0") && picture.contains("stored"), "{picture}");
}

#[test]
fn what_it_is_given_is_checked_before_it_runs() {
    let of_model = |arguments: &[&str]| {
        let mut command = xtask(["fidelity", "--model"]);
        command.arg(synthetic()).args(arguments);
        refusal(&mut command)
    };
    assert_eq!(of_model(&["--plot", "picture.png"]), "picture.png: no .svg");
    assert!(of_model(&["--window", "1"]).contains("'1' for '--window <N>'"));
    assert!(of_model(&["--type", "IQ4_XS"]).contains("'IQ4_XS' for '--type <TYPE>'"));

    let folder = temporary_folder();
    let text = folder.path().join("text");
    fs::write(&text, "").expect("a written file");
    let error = of_model(&["--text", text.to_str().expect("text")]);
    assert!(error.contains("the text has 0 tokens"), "{error}");
    let error = of_model(&["--text", folder.path().join("none").to_str().expect("text")]);
    assert!(error.contains("none: "), "{error}");
}
