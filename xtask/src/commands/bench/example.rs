//! Runs with round numbers, for the tests of what is made of runs.

use super::arm::Arm;
use super::arm_run::ArmRun;
use super::first_token::FirstToken;
use super::multiply_adds::MultiplyAdds;
use super::peer::{Build, Description};
use super::process::Work;
use super::profile::{PartTimes, PassProfiles};
use super::run::Run;
use super::summary::ArmSummary;
use crate::foreign::llama::Cpu;

/// Four tokens after a prompt of eight.
pub(super) fn work() -> Work {
    Work {
        model: "m.gguf".into(),
        no_mmap: false,
        threads: 2,
        prompt: (1..=8).collect(),
        text: "a text".into(),
        gen_len: 4,
    }
}

/// A run of [`work`] that had the processor for itself.
pub(super) fn run() -> Run {
    Run {
        load_ms: 2.0,
        ttft_ms: 16.0,
        tpot_ms: 4.0,
        peak_rss_bytes: Some(64_000_000),
        processor_share: Some(1.0),
        first_token: Some(FirstToken::of(12.0)),
        profile: Some(PassProfiles {
            prefill: PartTimes { matmul: 12.0, attention: 3.0, other: 1.0 },
            decode: PartTimes { matmul: 3.0, attention: 0.5, other: 0.5 },
        }),
        ids: vec![5, 6, 7, 8],
        leads: vec![1.0, 0.5, 0.25, 2.0],
    }
}

/// A run as an arm's.
pub(super) fn arm_run(run: Run) -> ArmRun {
    ArmRun {
        run,
        tier: "portable".into(),
        weight_bytes: 32_000_000,
        prompt_multiply_adds: MultiplyAdds { floats: 32_000_000, bytes: 32_000_000, signed_bytes: 0 },
    }
}

/// The summary of an arm with these runs.
pub(super) fn arm(arm: Arm, runs: &[Run]) -> ArmSummary {
    let runs: Vec<_> = runs.iter().cloned().map(arm_run).collect();
    ArmSummary::new(arm, &work(), &runs).expect("runs with the same tokens")
}

/// A build of that version.
pub(super) fn build(version: &str) -> Build {
    Build {
        folder: "builds".into(),
        cpu: Cpu::Best,
        description: Description {
            version: version.into(),
            backend: Some("libggml-cpu-haswell.so".into()),
            system_info: "CPU : SSE3 = 1 | AVX2 = 1 |".into(),
        },
        name: version.into(),
    }
}
