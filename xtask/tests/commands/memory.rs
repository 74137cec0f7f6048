//! How much memory a run takes at most.

use std::path::{Path, PathBuf};

use keepq_decoder::Config;
use keepq_gguf::Source;
use serde_json::Value;

use crate::support::{printed, smollm2, synthetic, xtask};

const PROMPT: usize = 32;
const GENERATED: usize = 4;

/// What a run may have beside weights, keys and values: the program, its buffers, and what the system reads ahead.
const BESIDE: f64 = 32e6;

/// Runs an arm, and gives what it told.
fn run(model: &Path, arm: &str, more: &[&str]) -> Value {
    let mut command = xtask(["bench", "--json", "--reps=1", "--threads=2", "--arm", arm]);
    command.arg("--prompt-len").arg(PROMPT.to_string()).arg("--gen-len").arg(GENERATED.to_string());
    serde_json::from_str(&printed(command.arg("--model").arg(model).args(more))).expect("a line of JSON")
}

/// Bytes of the file, of keys and values of all positions of a run, and of the embedding.
fn sizes(model: &Path) -> [f64; 3] {
    let source = Source::map(model).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let config = Config::from_gguf(&gguf).expect("a model");
    let embedding = gguf.require_tensor("token_embd.weight").and_then(|tensor| tensor.data()).expect("an embedding");
    let cache = config.layers * 2 * config.kv_heads * config.head * size_of::<u16>() * (PROMPT + GENERATED);
    [source.as_bytes().len() as f64, cache as f64, embedding.len() as f64]
}

fn peak(run: &Value) -> f64 {
    run["peak_rss_bytes"].as_f64().expect("Linux tells it")
}

fn models() -> Vec<PathBuf> {
    [Some(synthetic().to_owned()), smollm2()].into_iter().flatten().collect()
}

#[test]
fn a_run_takes_little_more_than_file_keys_and_values() {
    for model in models() {
        let [file, cache, _] = sizes(&model);
        for more in [&[][..], &["--no-mmap"]] {
            let (peak, most) = (peak(&run(&model, "after", more)), 1.02 * (file + cache) + BESIDE);
            assert!(peak <= most, "{}, {more:?}: {peak} bytes, more than {most}", model.display());
        }
    }
}

/// What was expanded is not in memory a second time as the file has it, but for the embedding: its rows are read again.
#[test]
fn the_pages_of_expanded_weights_are_given_back() {
    for model in models() {
        let [_, cache, embedding] = sizes(&model);
        let run = run(&model, "before", &[]);
        let number = |key: &str| run[key].as_f64().expect("a number");
        let weights = number("decode_bytes_per_s") * number("tpot_ms") / 1e3;
        let (peak, most) = (peak(&run), 1.02 * (weights + cache + embedding) + BESIDE);
        assert!(peak <= most, "{}: {peak} bytes, more than {most}", model.display());
    }
}

/// Where the bytes come from makes no difference to them.
#[test]
fn a_file_that_is_read_gives_the_tokens_of_one_that_is_mapped() {
    let [mapped, read] = [&[][..], &["--no-mmap"]].map(|more| run(synthetic(), "after", more));
    assert_eq!(mapped["token_md5"], read["token_md5"]);
    let generate = |more: &[&str]| {
        printed(xtask(["generate", "--prompt=The weights", "--tokens=4", "--model"]).arg(synthetic()).args(more))
    };
    assert_eq!(generate(&[]), generate(&["--no-mmap"]));
}
