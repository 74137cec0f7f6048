//! `xtask tokens` on the synthetic model: what is stored of llama.cpp, and what would be wrong.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Changes, changed, printed, refusal, synthetic, temporary_folder, xtask};

/// A token oracle of the synthetic model as it generates itself, whose last id is changed to another one with this lead.
fn oracle(change: Option<(u64, f64)>, excuse_threshold: Option<f64>) -> Value {
    let model = synthetic().to_str().expect("text");
    let generated = printed(&mut xtask(["generate", "--json", "--prompt=The weights", "--tokens=3", "--model", model]));
    let mut generated: Value = serde_json::from_str(&generated).expect("JSON");
    let mut lead = 1.0;
    if let Some((last, changed)) = change {
        generated["ids"][2] = json!(last);
        lead = changed;
    }
    let step = |id: &Value, lead: f64| json!([[id, lead], [9, 0.0], [9, 0.0], [9, 0.0], [9, 0.0]]);
    let ids = &generated["ids"];
    json!({
        "model": "synthetic", "sha256": null, "produced_by": "this test",
        "two_builds": excuse_threshold.map(|threshold| json!({
            "variants": ["a", "b"], "max_logit_difference": 1e3, "excuse_threshold": 2e3, "max_lead_difference": threshold,
        })),
        "prompts": [{
            "prompt": "The weights", "prompt_ids": generated["prompt_ids"], "greedy_ids": ids,
            "top5": [step(&ids[0], 1.0), step(&ids[1], 1.0), step(&ids[2], lead)], "min_margin": lead,
        }],
    })
}

/// All stored types, every tier, one thread and two, against llama.cpp itself.
#[test]
fn the_synthetic_model_is_as_in_llama_cpp() {
    let proof = printed(xtask(["tokens", "--json", "--model"]).arg(synthetic()));
    let proof: Value = serde_json::from_str(&proof).expect("JSON");
    let prompts = proof["prompts"].as_array().expect("prompts");
    assert_eq!(prompts.len(), 8);
    for prompt in prompts {
        assert_eq!((&prompt["prompt_ids_equal"], &prompt["other_bits"]), (&json!(true), &json!([])), "{prompt}");
        let difference = prompt["stored_difference"].as_f64().expect("a number");
        assert!(difference < proof["two_builds"]["max_logit_difference"].as_f64().expect("a number"), "{prompt}");
    }
}

#[test]
fn ids_and_choices_are_proved_and_a_wrong_one_is_named() {
    let dir = temporary_folder();
    let path = dir.path().join("oracle.json");
    let tokens = |oracle: Value| {
        fs::write(&path, oracle.to_string()).expect("a written file");
        let mut command = xtask(["tokens", "--json", "--model"]);
        command.arg(synthetic()).arg("--oracle").arg(&path);
        command
    };
    let proof: Value = serde_json::from_str(&printed(&mut tokens(oracle(None, None)))).expect("JSON");
    let prompt = &proof["prompts"][0];
    assert_eq!((&prompt["prompt_ids_equal"], &prompt["free_running_equal"]), (&json!(true), &json!(3)));
    assert_eq!((&prompt["other_choices"], &prompt["other_bits"]), (&json!([]), &json!([])));
    assert!(proof["runs"].as_array().expect("runs").contains(&json!("portable/2")), "{}", proof["runs"]);

    // Another choice than the oracle's is excused by a small lead alone.
    printed(&mut tokens(oracle(Some((300, 0.25)), Some(0.5))));
    for threshold in [None, Some(0.125)] {
        let output = tokens(oracle(Some((300, 0.25)), threshold)).output().expect("it starts");
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success());
        assert!(
            stderr.starts_with("error: prompt 0, step 2: ") && stderr.contains("llama.cpp's 300 leads by 0.25"),
            "{stderr}"
        );
    }
}

#[test]
fn a_model_without_an_oracle_is_refused() {
    let dir = temporary_folder();
    let file = dir.path().join("model.gguf");
    changed(&file, &Changes { keys: &[("general.name", keepq_gguf::Value::String("other"))], ..Changes::default() });
    let line = refusal(xtask(["tokens", "--model"]).arg(&file));
    assert!(line.starts_with(&*file.to_string_lossy()) && line.contains("is of a model with SHA-256"), "{line}");
}

#[test]
fn an_oracle_that_is_none_or_of_another_model_is_refused() {
    let dir = temporary_folder();
    let path = dir.path().join("oracle.json");
    let mut other = oracle(None, None);
    other["sha256"] = json!("00ff");
    let mut wrong_id = oracle(None, None);
    wrong_id["prompts"][0]["prompt_ids"] = json!([320]);
    for (text, wanted) in [
        (other.to_string(), "is of a model with 00ff"),
        (wrong_id.to_string(), "token 320 is not among the vocabulary's 320"),
        ("{}".to_owned(), "oracle.json"),
    ] {
        fs::write(&path, text).expect("a written file");
        let line = refusal(xtask(["tokens", "--model"]).arg(synthetic()).arg("--oracle").arg(&path));
        assert!(line.contains(wanted), "{line}");
    }
}
