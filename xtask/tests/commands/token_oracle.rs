//! `xtask token-oracle`: what is wrong with its arguments, and with the real library that it stores what is stored.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{llama_libraries, names_in, printed, refusal, synthetic, temporary_folder, xtask};

fn token_oracle(model: &Path, llama: &Path, out: &Path) -> Command {
    let mut command = xtask(["token-oracle"]);
    command.arg("--model").arg(model).arg("--llama").arg(llama).arg("--out").arg(out);
    command
}

#[test]
fn what_is_wrong_is_named_and_no_file_is_left() {
    let (dir, libraries) = (temporary_folder(), temporary_folder());
    let out = dir.path().join("small.json");
    let missing = dir.path().join("missing");
    let command = |model: &Path, llama: &Path| token_oracle(model, llama, &out);
    let below = |out: &str| token_oracle(synthetic(), libraries.path(), &dir.path().join(out));
    for (mut command, wanted) in [
        (command(&missing, libraries.path()), "missing: No such file"),
        (command(synthetic(), &missing), "cannot read the folder of llama.cpp's libraries, "),
        (command(synthetic(), libraries.path()), "has no libggml-base.so"),
        (below("no/such/folder/small.json"), "cannot write in the folder "),
        (below(".."), "has no name to call the model by"),
    ] {
        let line = refusal(&mut command);
        assert!(line.contains(wanted), "{wanted}: {line}");
    }
    for (more, wanted) in [
        (["--steps", "0"], "'0' for '--steps <N>'"),
        (["--steps", "some"], "'some' for '--steps <N>'"),
        (["--prompt", ""], "a prompt is empty"),
    ] {
        let line = refusal(command(synthetic(), libraries.path()).args(more));
        assert!(line.contains(wanted), "{more:?}: {line}");
    }
    assert!(names_in(dir.path()).is_empty());
}

/// The stored file comes out again. Another C library rounds a sine or a power otherwise: where a step of the stored file is
/// decided by less than llama.cpp's own builds are apart, what follows may be another text.
#[test]
fn the_synthetic_models_oracle_is_made_again() {
    let Some(libraries) = llama_libraries() else { return };
    let dir = temporary_folder();
    let out = dir.path().join("keepq-synthetic.json");
    let report = printed(&mut token_oracle(synthetic(), &libraries, &out));
    assert!(report.contains("largest logit difference"), "{report}");

    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("goldens").join("tokens/keepq-synthetic.json");
    let [made, stored] = [&out, &stored].map(|path| -> Value {
        serde_json::from_str(&fs::read_to_string(path).expect("a token oracle")).expect("JSON")
    });
    for key in ["model", "sha256", "produced_by"] {
        assert_eq!(made[key], stored[key]);
    }
    assert_eq!(made["two_builds"]["variants"], stored["two_builds"]["variants"]);
    let number = |value: &Value| value.as_f64().expect("a number");
    let [logit, lead] = ["max_logit_difference", "max_lead_difference"].map(|key| number(&stored["two_builds"][key]));
    let prompts = |oracle: &Value| oracle["prompts"].as_array().expect("prompts").clone();
    assert_eq!(prompts(&made).len(), prompts(&stored).len());
    for (made, stored) in prompts(&made).iter().zip(&prompts(&stored)) {
        assert_eq!((&made["prompt"], &made["prompt_ids"]), (&stored["prompt"], &stored["prompt_ids"]));
        for (step, top) in stored["top5"].as_array().expect("steps").iter().enumerate() {
            let other = &made["top5"][step];
            assert!((number(&other[0][1]) - number(&top[0][1])).abs() <= logit, "step {step} of {}", made["prompt"]);
            if number(&top[0][1]) - number(&top[1][1]) <= lead {
                break;
            }
            assert_eq!(made["greedy_ids"][step], stored["greedy_ids"][step], "step {step} of {}", made["prompt"]);
        }
    }
}
