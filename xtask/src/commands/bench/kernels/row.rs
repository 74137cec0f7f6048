//! [`Row`]: a case, our times and the peers', and the figures that follow from them.

use super::case::Case;
use super::limits::{Limit, Limits};
use super::peer_process::Program;
use super::times::Times;

/// Who multiplies beside us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerName {
    /// Its own among all: `llama.cpp 0.5.0 repacked`.
    pub(super) name: String,
    /// The program's.
    pub(super) version: String,
    /// The way in which it is asked to compute.
    pub(super) setting: String,
    /// Where it lies.
    pub(super) path: String,
}

impl PeerName {
    /// A program with one of its settings.
    pub(super) fn of(program: &Program, setting: &str) -> Self {
        Self {
            name: format!("{} {setting}", program.name),
            version: program.version.clone(),
            setting: setting.to_owned(),
            path: program.path.clone(),
        }
    }
}

/// A peer's times of a case.
#[derive(Clone, Debug)]
pub(super) struct PeerTimes {
    pub(super) peer: PeerName,
    /// What it calls the place of the weights.
    pub(super) layout: String,
    pub(super) times: Times,
    /// How far its product is from ours, by the length of ours.
    pub(super) difference: f64,
}

/// What is known of a case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) ours: Times,
    pub(super) peers: Vec<PeerTimes>,
}

impl Row {
    /// GOP/s of a multiplication that takes so many seconds.
    pub(super) fn gops(&self, seconds: f64) -> f64 {
        self.case.operations() / seconds / 1e9
    }

    /// GB/s of weights in our best repetition.
    pub(super) fn best_gbs(&self) -> f64 {
        self.case.weight_bytes().unwrap_or(0) as f64 / self.ours.best / 1e9
    }

    /// What it is bound by.
    pub(super) fn limit(&self, limits: &Limits) -> Option<Limit> {
        limits.of(&self.case)
    }

    /// Our best by the limit.
    pub(super) fn share(&self, limits: &Limits) -> Option<f64> {
        let limit = self.limit(limits)?;
        let reached = if self.case.is_cold() { self.best_gbs() } else { self.gops(self.ours.best) };
        Some(reached / limit.value)
    }

    /// The peer that is fastest at its best.
    pub(super) fn fastest(&self) -> Option<&PeerTimes> {
        self.peers.iter().min_by(|one, other| one.times.best.total_cmp(&other.times.best))
    }

    /// Our best by that peer's best, in operations a second.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.fastest()?.times.best / self.ours.best)
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;

    #[test]
    fn figures_follow_from_the_times() {
        let row = &example::rows()[0];
        // 2 * 4096 * 4096 operations and 4096 * 16 * 144 bytes in half a millisecond.
        assert!((row.gops(row.ours.best) - 67.108_864).abs() < 1e-9);
        assert!((row.best_gbs() - 18.874_368).abs() < 1e-9);
        assert!((row.share(&example::LIMITS).expect("a limit") - 0.943_718_4).abs() < 1e-9);
        assert_eq!(row.fastest().map(|peer| peer.peer.setting.as_str()), Some("plain"));
        assert!((row.ratio().expect("peers") - 1.6).abs() < 1e-9);
    }

    #[test]
    fn many_tokens_are_measured_by_operations() {
        let row = &example::rows()[1];
        assert_eq!(row.limit(&example::LIMITS).map(|limit| limit.name), Some("eight maddubs"));
        let share = row.share(&example::LIMITS).expect("a limit");
        assert!((share - row.gops(row.ours.best) / 250.0).abs() < 1e-12);
        assert_eq!((row.fastest().is_none(), row.ratio()), (true, None));
    }
}
