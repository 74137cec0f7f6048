//! A process that runs a model again and again needs no more memory for it.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "model/tiny.rs"]
mod tiny;

use std::fs;

use keepq_decoder::{Logits, Model, Session, Settings};
use keepq_gemm::Residency;
use keepq_gguf::Source;
use keepq_simd::Tier;

use tiny::Tiny;

/// What may be added by all runs together: less than what one of them has in keys, values and buffers.
const MOST_KIB: u64 = 512;

/// Kilobytes of memory that is not of files.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap()
}

#[test]
fn a_hundred_runs_leave_memory_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    fs::write(&path, Tiny::of("llama").write()).unwrap();
    let prompt: Vec<u32> = (0..512).map(|i| i % tiny::VOCABULARY as u32).collect();
    let run = |residency| {
        let source = Source::map(&path).unwrap();
        let gguf = source.parse().unwrap();
        let settings = Settings::new(Tier::best(), 2, residency).unwrap();
        let model = Model::load(&gguf, residency).unwrap();
        let mut session = Session::new(&model, settings.driver(), 1024).unwrap();
        session.feed(&prompt, Logits::All).unwrap();
        session.feed(&prompt[..1], Logits::Last).unwrap();
        resident_kib()
    };
    for residency in [Residency::Keep, Residency::ExpandKn] {
        // The allocator's own arenas, one a thread, come to rest in the first runs.
        let within = (0..10).map(|_| run(residency)).max().unwrap_or_default();
        let before = resident_kib();
        for _ in 0..100 {
            run(residency);
        }
        let after = resident_kib();
        assert!(after <= before + MOST_KIB, "{before} KiB before, {after} KiB after, {within} KiB within");
    }
}
