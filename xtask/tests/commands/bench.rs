//! `xtask bench` on the synthetic model.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{llama_libraries, names_in, printed, refusal, temporary_folder, xtask};

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
        for arm in &arms[..2] {
            assert!(arm["bandwidth_share"].is_number() && arm["multiply_add_share"].is_number());
        }
        assert!(arms[2].get("bandwidth_share").is_none());
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
            // What a process does before it loads, and the smaller prompt after it, take some time too.
            assert!(number("first_token_ms") > 0.0);
            for (pass, whole) in [("prefill", "ttft_ms"), ("decode", "tpot_ms")] {
                let part = |part: &str| arm["profile"][pass][part].as_f64().expect("a number");
                let parts = part("matmul") + part("attention") + part("other");
                assert!(parts > 0.0 && parts <= 1.01 * number(whole), "{pass}: {parts} of {}", number(whole));
            }
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

#[test]
fn a_tier_that_the_environment_asks_for_is_that_of_the_arms() {
    let after = || xtask(["bench", "--json", "--arm=after", "--reps=1", "--prompt-len=1", "--gen-len=2"]);
    let lines = lines(&printed(after().env("KEEPQ_TIER", "portable")));
    assert_eq!(lines[0]["tier"], "portable");
    assert!(lines[0].get("ratio").is_none(), "no peer ran");
}

/// Before anything runs, so that nothing else is wrong with the output.
#[test]
fn a_peer_that_cannot_be_opened_is_named_with_the_reason() {
    let dir = temporary_folder();
    let folder = dir.path().to_str().expect("text");
    for (arguments, wanted) in [
        (&["--peer", "no/such"][..], "peer no/such: cannot read the folder of llama.cpp's libraries, no/such: No such"),
        (&["--peer", folder], "has no libggml-base.so and no libggml-base.v*.so"),
        (&["--peer-variant", "haswell"], "not provided: --peer <DIR>"),
        (
            &["--peer=a", "--peer=b", "--peer=c", "--peer-variant=x64", "--peer-variant=best"],
            "--peer-variant is given 2 times, --peer 3: give it once for all, or once for each",
        ),
    ] {
        let line = refusal(xtask(["bench"]).args(arguments));
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }

    for library in ["libggml-base.so", "libggml.so", "libllama.so"] {
        fs::write(dir.path().join(library), "no library").expect("a written file");
    }
    for (variant, wanted) in
        [("haswell", "has no libggml-cpu-haswell.so; its variants: "), ("best", "libggml-base.so: ")]
    {
        let line = refusal(xtask(["bench", "--peer", folder, "--peer-variant", variant]).env("KEEPQ_TIER", "avx9"));
        assert!(line.starts_with(&format!("peer {folder}: ")) && line.contains(wanted), "{variant}: {line}");
    }
}

#[test]
fn llama_cpp_runs_beside_the_arms() {
    let Some(folder) = llama_libraries() else { return };
    let dir = temporary_folder();
    let path = dir.path().join("ids.json");
    let mut command = bench("2");
    command.args(["--arm=after", "--ids"]).arg(&path).arg("--peer").arg(&folder).arg("--peer").arg(&folder);
    let text = printed(&mut command);
    let lines = lines(&text);
    let [after, peers @ ..] = &lines[..] else { panic!("nothing: {text}") };

    let ids: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a file")).expect("JSON");
    let mut settings = Vec::new();
    for line in peers {
        let peer = &line["peer"];
        let (name, setting) = (peer["name"].as_str().expect("a name"), peer["setting"].as_str().expect("a setting"));
        let version = peer["version"].as_str().expect("a version");
        assert!(name.starts_with(&format!("llama.cpp {version} (")) && name.ends_with(setting), "{name}");
        assert!(peer["system_info"].as_str().is_some_and(|info| info.contains("CPU")));
        assert!(peer["backend"].as_str().is_some_and(|file| file.starts_with("libggml-cpu")));
        assert!(line.get("arm").is_none() && line.get("tier").is_none());
        for key in ["first_token_ms", "load_ms", "ttft_ms", "tpot_ms", "peak_rss_bytes"] {
            assert!(line[key].as_f64().is_some_and(|number| number > 0.0), "{key}: {line}");
        }

        let theirs = ids[name].as_array().expect("ids");
        assert_eq!(theirs.len(), 8);
        let position = theirs.iter().zip(ids["after"].as_array().expect("ids")).position(|(id, ours)| id != ours);
        let divergence = &line["first_divergence"];
        assert_eq!(divergence["position"].as_u64().map(|position| position as usize), position);
        assert_eq!(divergence["peer_lead"].is_number(), position.is_some());
        settings.push(setting);
    }
    assert_eq!(settings, ["repacked", "plain", "repacked", "plain"]);

    let best = peers.iter().map(|peer| peer["decode_tps"].as_f64().expect("a number")).fold(0.0, f64::max);
    let ratio = after["decode_tps"].as_f64().expect("a number") / best;
    assert!((after["ratio"]["decode"].as_f64().expect("a number") - ratio).abs() < 1e-9);
    assert!(after["ratio_to"]["load"].as_str().is_some_and(|name| name.starts_with("llama.cpp ")));
}
