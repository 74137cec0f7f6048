//! Rows with made-up times, for tests.

use keepq_blocks::GgmlType;

use super::case::Case;
use super::limits::{Int8, Limits};
use super::row::{PeerName, PeerTimes, Row};
use super::times::Times;

pub(super) const LIMITS: Limits = Limits {
    read: 20.0,
    streams: 4,
    clock_ghz: 3.0,
    fma: 96.0,
    int8: Some(Int8 { maddubs: 380.0, eight_maddubs: 250.0, sign: 140.0 }),
};

/// One token, and many, of two types; with peers, and without.
pub(super) fn rows() -> Vec<Row> {
    let times = |best| Times { best, median: best * 1.25, kept: 4, made: 5 };
    let row = |ty: GgmlType, m, best| Row {
        case: Case { ty: ty.into(), n: 4096, k: 4096, m, threads: 1 },
        ours: times(best),
        peers: Vec::new(),
    };
    let peer = |setting: &str, best| PeerTimes {
        peer: PeerName {
            name: format!("llama.cpp 0.5.0 {setting}"),
            version: "0.5.0".to_owned(),
            setting: setting.to_owned(),
            path: "libraries".to_owned(),
        },
        layout: if setting == "plain" { "CPU" } else { "CPU_REPACK" }.to_owned(),
        times: times(best),
        difference: 0.003,
    };
    let mut cold = row(GgmlType::Q4_K, 1, 0.5e-3);
    cold.peers = vec![peer("repacked", 1e-3), peer("plain", 0.8e-3)];
    let mut second = cold.clone();
    second.case.n = 2048;
    second.ours.kept = 0;
    // More than the limit allows.
    second.ours.best = 0.2e-3;
    vec![cold, row(GgmlType::Q4_K, 128, 20e-3), second, row(GgmlType::F16, 1, 2e-3)]
}
