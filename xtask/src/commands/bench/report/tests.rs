//! What is printed of a fixed set of runs.

use serde_json::Value;

use super::super::example;
use super::super::limits::Int8;
use super::super::peer::{Peer, Setting};
use super::super::run::Run;
use super::*;

/// The example's run so many times, as slow as given, with these shares of the processor.
fn runs(slower: f64, shares: [f64; 3]) -> Vec<Run> {
    let run = example::run();
    let run = |(rep, share): (usize, f64)| Run {
        ttft_ms: slower * (run.ttft_ms + rep as f64),
        tpot_ms: slower * (run.tpot_ms + rep as f64 / 2.0),
        load_ms: slower * run.load_ms,
        processor_share: Some(share),
        ..run.clone()
    };
    shares.into_iter().enumerate().map(run).collect()
}

fn machine() -> Machine {
    Machine {
        cpu: "a CPU".into(),
        cores: 2,
        load_average: [Some(0.25), Some(1.5)],
        goldens_md5: [Some("00ff".into()), Some("00ff".into())],
    }
}

/// Two arms and the peers of `builds`, of which the first gets no processor and the last generates other tokens.
fn report<'w>(work: &'w Work, builds: &'w [Build]) -> Report<'w> {
    let arms = vec![
        example::arm(Arm::Before, &runs(2.0, [1.0, 0.99, 0.98])),
        example::arm(Arm::After, &runs(1.0, [0.5, 1.0, 0.99])),
    ];
    let peer = |build, setting, runs: &[Run]| {
        PeerSummary::new(Peer { build, setting }, work, runs).expect("runs with the same tokens")
    };
    let mut peers = Vec::new();
    for (build, faster) in builds.iter().zip([1.0, 0.5]) {
        let mut repacked = runs(1.5 * faster, [0.9, 0.96, 0.8]);
        for run in &mut repacked {
            run.ttft_ms /= 2.0;
        }
        peers.push(peer(build, Setting::Repacked, &repacked));
        let mut plain = runs(1.25 * faster, [1.0, 1.0, 0.9]);
        for run in &mut plain {
            run.ids[2] = 1;
            run.leads[2] = 0.125;
            run.peak_rss_bytes = Some(32_000_000);
        }
        peers.push(peer(build, Setting::Plain, &plain));
    }
    Report {
        model: "a/model.gguf".into(),
        sha256: "abcd".into(),
        work,
        reps: 3,
        machine: machine(),
        limits: vec![
            (
                Arm::Before,
                Limits { read: 64e9, multiply_adds: 16e9, int8: Some(Int8 { signed: 16e9, unsigned: 32e9 }) },
            ),
            (Arm::After, Limits { read: 32e9, multiply_adds: 16e9, int8: None }),
        ],
        comparison: Comparison::new(&arms, Some(0.5)),
        arms,
        builds,
        peers,
    }
}

#[test]
fn the_table_is_readable() {
    insta::assert_snapshot!(report(&example::work(), &[]).to_string());
}

#[test]
fn the_table_with_a_peer_is_readable() {
    insta::assert_snapshot!(report(&example::work(), &[example::build("0.4.0")]).to_string());
}

#[test]
fn two_builds_are_told_apart_among_the_ratios() {
    let (work, builds) = (example::work(), ["0.4.0", "0.5.0"].map(example::build));
    let text = report(&work, &builds).to_string();
    let ratios: Vec<_> = text.lines().skip_while(|line| !line.starts_with("against")).take(3).collect();
    insta::assert_snapshot!(ratios.join("\n"));
}

#[test]
fn runs_that_differ_are_told_of_a_peer() {
    let (work, builds) = (example::work(), [example::build("0.4.0")]);
    let mut report = report(&work, &builds);
    report.peers[0].same_tokens = false;
    let text = report.to_string();
    let line = text.lines().find(|line| line.contains("different tokens")).expect("a line");
    assert_eq!(line, "llama.cpp 0.4.0 repacked: all 4 tokens are those of after; its runs generated different tokens");
}

#[test]
fn a_line_an_arm_then_a_line_a_peer() {
    let text = report(&example::work(), &[example::build("0.4.0")]).json().expect("JSON");
    insta::assert_snapshot!(text);
}

#[test]
fn ratios_are_those_of_the_lines() {
    let text = report(&example::work(), &[example::build("0.4.0")]).json().expect("JSON");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [_, after, repacked, plain] = &lines[..] else { panic!("not four lines: {text}") };
    let number = |line: &Value, key: &str| line[key].as_f64().expect("a number");
    for (ratio, key, peer) in [
        ("decode", "decode_tps", plain),
        ("prefill", "prefill_tps", repacked),
        ("peak_rss", "peak_rss_bytes", plain),
        ("load", "load_ms", plain),
        ("first_token", "first_token_ms", repacked),
    ] {
        let error = number(&after["ratio"], ratio) - number(after, key) / number(peer, key);
        assert!(error.abs() < 1e-12, "{ratio}");
        assert_eq!(after["ratio_to"][ratio], peer["peer"]["name"], "{ratio}");
    }
}

#[test]
fn other_tokens_of_a_peer_are_no_failure() {
    let (work, builds) = (example::work(), [example::build("0.4.0")]);
    let mut report = report(&work, &builds);
    assert!(report.check().is_ok());
    report.machine.goldens_md5[1] = None;
    assert!(report.check().is_err());
}
