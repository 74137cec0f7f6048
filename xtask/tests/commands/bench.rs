//! `xtask bench` on the synthetic model.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{names_in, printed, temporary_folder, xtask};

/// The keys that each line begins with.
const KEYS: [&str; 12] = [
    "arm",
    "model",
    "threads",
    "prompt_len",
    "gen_len",
    "ttft_ms",
    "tpot_ms",
    "prefill_tps",
    "decode_tps",
    "peak_rss_bytes",
    "token_md5",
    "first_divergence",
];

fn bench(threads: &str) -> Command {
    xtask(["bench", "--json", "--reps=1", "--prompt-len=24", "--gen-len=8", "--threads", threads])
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn before_is_the_oracle_on_one_and_two_threads() {
    let mut sums = Vec::new();
    for threads in ["1", "2"] {
        let text = printed(&mut bench(threads));
        let arms = lines(&text);
        let names: Vec<_> = arms.iter().map(|arm| arm["arm"].as_str().expect("a name")).collect();
        assert_eq!(names, ["before", "after", "oracle"]);
        assert_eq!(arms[0]["token_md5"], arms[2]["token_md5"]);
        assert_eq!(arms[2]["tier"], "portable");
        assert!(arms[0]["bandwidth_share"].is_number() && arms[1].get("bandwidth_share").is_none());
        assert!(arms.iter().all(|arm| arm["excuse_threshold"].is_number()), "goldens/tokens knows the model");
        sums.push(arms[0]["token_md5"].clone());

        for line in text.lines() {
            let mut rest = line;
            for key in KEYS {
                let at = rest.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} in its place: {line}"));
                rest = &rest[at..];
            }
        }
        for arm in &arms {
            let number = |key: &str| arm[key].as_f64().expect("a number");
            assert!((number("prefill_tps") * number("ttft_ms") - 24e3).abs() < 1.0);
            assert!((number("decode_tps") * number("tpot_ms") - 1e3).abs() < 1.0);
            assert_eq!(
                (&arm["model"], &arm["threads"]),
                (&"synthetic".into(), &threads.parse::<u64>().unwrap().into())
            );
        }
    }
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn ids_are_written_and_have_the_md5_of_their_arm() {
    let dir = temporary_folder();
    let path = dir.path().join("ids.json");
    let text = printed(bench("2").args(["--arm=after", "--arm=after", "--ids"]).arg(&path));
    let [after] = &lines(&text)[..] else { panic!("one arm: {text}") };
    assert!(after["first_divergence"].is_null());

    let ids: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a file")).expect("JSON");
    assert_eq!(ids["prompt"].as_array().map(Vec::len), Some(24));
    let generated = ids["after"].as_array().expect("ids");
    assert_eq!(generated.len(), 8);
    let text: String = generated.iter().map(|id| format!("{id}\n")).collect();
    assert_eq!(after["token_md5"], keepq_goldens::Output::of_bytes(text.into_bytes()).md5());
    assert_eq!(names_in(dir.path()), ["ids.json"]);
}

#[test]
fn the_table_tells_what_ran_and_what_came_of_it() {
    let table = printed(&mut xtask(["bench", "--reps=2", "--prompt-len=8", "--gen-len=4", "--threads=1"]));
    for wanted in
        ["synthetic, SHA-256 ", "load ", "medians of 2", "before: all 4 tokens are those of oracle", "% of what"]
    {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
}
