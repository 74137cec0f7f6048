//! `xtask gate`, with no time to spare.

use serde_json::Value;

use crate::support::{printed, refusal, xtask};

#[test]
fn each_tier_has_its_rows_and_a_verdict() {
    let text = printed(&mut xtask(["gate", "--json", "--reps=1", "--seconds=0"]));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (rows, verdicts): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["op"] == "gate");
    assert_eq!(rows.len(), 5 * verdicts.len());
    let portable: Vec<_> = rows.iter().filter(|row| row["tier"] == "portable").map(|row| &row["what"]).collect();
    assert_eq!(portable, ["2048 x 1024", "1024 x 1024", "3072 x 1024", "1024 x 3072", "5 layers, 15 times"]);
    for verdict in verdicts {
        let ratios = rows
            .iter()
            .filter(|row| row["tier"] == verdict["tier"])
            .map(|row| row["ratio"].as_f64().expect("a number"));
        assert_eq!(verdict["passes"], ratios.fold(f64::INFINITY, f64::min) > 1.0, "{verdict}");
    }
    let stack = rows.iter().find(|row| row["n"].is_null()).expect("the stack");
    assert_eq!((&stack["int8"]["bytes"], &stack["int4"]["bytes"]), (&78_888_960.into(), &39_567_360.into()), "{stack}");
}

#[test]
fn an_unknown_value_is_named_with_its_flag() {
    assert!(refusal(&mut xtask(["gate", "--reps", "0"])).contains("'0' for '--reps <N>'"));
}
