//! A model in several files, given to commands by any of them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{printed, refusal, split, synthetic, temporary_folder, xtask};

/// What `generate` prints of a model.
fn generated(model: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = xtask(["generate", "--json", "--prompt=The weights stay", "--tokens=12", "--model"]);
    printed(command.arg(model).envs(variables.iter().copied()))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn generate_gives_the_text_of_the_whole_from_any_file() {
    let dir = temporary_folder();
    let files = split(dir.path());
    for variables in [&[][..], &[("KEEPQ_KEEP_QUANT", "0")]] {
        let whole = generated(synthetic(), variables);
        for file in &files {
            assert_eq!(generated(file, variables), whole, "{}", file.display());
        }
    }
}

#[test]
fn bench_runs_a_set() {
    let dir = temporary_folder();
    let [_, second, _] = split(dir.path());
    let token_md5 = |model: &Path| {
        let mut command =
            xtask(["bench", "--json", "--arm=after", "--reps=1", "--prompt-len=8", "--gen-len=4", "--model"]);
        parsed(&printed(command.arg(model)))["token_md5"].clone()
    };
    assert_eq!(token_md5(&second), token_md5(synthetic()));
}

#[test]
fn tokens_knows_a_set_by_the_digest_of_all_its_files() {
    let dir = temporary_folder();
    let files = split(dir.path());
    let sha256 = |model: &OsStr| {
        let line = refusal(xtask(["tokens", "--model"]).arg(model));
        line.rsplit_once(' ').expect("words").1.to_owned()
    };
    let [first, second, third] = files.each_ref().map(|file| sha256(file.as_os_str()));
    assert_eq!((first.len(), &first), (64, &second));
    assert_eq!(first, third);
}

#[test]
fn inspect_lists_the_files() {
    let dir = temporary_folder();
    let files = split(dir.path());
    let whole = parsed(&printed(xtask(["inspect", "--json"]).arg(synthetic())));
    assert_eq!(whole["files"].as_array().map(Vec::len), Some(1));
    let set = parsed(&printed(xtask(["inspect", "--json"]).arg(&files[2])));
    assert_eq!(set["totals"], whole["totals"]);
    let tensors = |report: &Value| report["tensors"].as_array().expect("tensors").len();
    assert_eq!(tensors(&set), tensors(&whole));

    let mut bytes = 0;
    for (index, file) in files.iter().enumerate() {
        let len = fs::metadata(file).expect("a file").len();
        let row = &set["files"][index];
        assert_eq!((&row["path"], &row["bytes"]), (&json!(file), &json!(len)));
        let inside =
            set["tensors"].as_array().expect("tensors").iter().filter(|tensor| tensor["file"] == index).count();
        assert_eq!(row["tensors"], inside);
        bytes += len;
    }
    assert_eq!(set["bytes"], bytes);

    let table = printed(xtask(["inspect"]).arg(&files[0]));
    assert!(table.contains("\n3 files\n"), "{table}");
    let last = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).expect("the tensor");
        line.split_whitespace().next_back()
    };
    assert_eq!((last("blk.1.ffn_up.weight"), last("blk.2.ffn_up.weight")), (Some("2"), Some("3")));
}

#[test]
fn a_missing_file_is_named() {
    let dir = temporary_folder();
    let [first, second, third] = split(dir.path());
    fs::remove_file(&second).expect("a removed file");
    for (arguments, model) in [
        (&["generate", "--prompt=a", "--model"][..], &first),
        (&["generate", "--prompt=a", "--model"], &third),
        (&["bench", "--reps=1", "--model"], &third),
        (&["tokens", "--model"], &first),
        (&["inspect"], &third),
    ] {
        let line = refusal(xtask(arguments).arg(model));
        assert_eq!(line, format!("{}: shard 2 of 3 is missing", second.display()));
    }
}

#[test]
fn a_file_of_another_model_is_named() {
    let dir = temporary_folder();
    let [first, second, third] = split(dir.path());
    // A download that was renamed to look like the one that is missing.
    fs::copy(&second, &third).expect("a copied file");
    let line = refusal(xtask(["generate", "--prompt=a", "--model"]).arg(&first));
    let start = format!("{}: key \"split.no\" at byte ", third.display());
    assert!(line.starts_with(&start) && line.ends_with(": 1, expected 2 by the name of the file"), "{line}");
}
