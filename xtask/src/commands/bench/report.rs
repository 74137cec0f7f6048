//! [`Report`]: the result of `bench`, for people and as JSON.

mod json;
mod text;

use anyhow::{Result, bail};
use serde::Serialize;

use super::arm::Arm;
use super::compare::{Comparison, PeerDivergence};
use super::limits::Limits;
use super::machine::Machine;
use super::peer::Build;
use super::process::Work;
use super::ratio::{Ratio, Ratios};
use super::summary::{ArmSummary, PeerSummary};

/// The result.
#[derive(Debug)]
pub(super) struct Report<'w> {
    /// The path, or `synthetic`.
    pub(super) model: String,
    pub(super) sha256: String,
    pub(super) work: &'w Work,
    pub(super) reps: u32,
    pub(super) machine: Machine,
    /// Of the arms that are measured by them, each with its own, since what is read depends on how much there is.
    pub(super) limits: Vec<(Arm, Limits)>,
    pub(super) arms: Vec<ArmSummary>,
    pub(super) comparison: Comparison,
    /// The builds of llama.cpp that ran too.
    pub(super) builds: &'w [Build],
    pub(super) peers: Vec<PeerSummary<'w>>,
}

/// What an arm makes of the machine.
#[derive(Clone, Copy, Serialize)]
struct Share {
    /// Bytes of weights read in decoding, a second.
    decode_bytes_per_s: f64,
    /// That by what the threads read of as much memory, over and over.
    bandwidth_share: f64,
    /// Multiply-adds of weights in prefill, a second.
    prefill_multiply_adds_per_s: f64,
    /// The least time that they take, each kind as fast as the threads do it in registers, by the time that they took; none where that
    /// is not measured on this machine.
    multiply_add_share: Option<f64>,
}

impl Report<'_> {
    /// The arm's part of what the machine could do.
    fn share(&self, summary: &ArmSummary) -> Option<Share> {
        let (_, limits) = self.limits.iter().find(|(arm, _)| *arm == summary.arm)?;
        let read = summary.weight_bytes as f64 * 1e3 / summary.figures.tpot_ms.median;
        let (work, seconds) = (&summary.prompt_multiply_adds, summary.figures.ttft_ms.median / 1e3);
        Some(Share {
            decode_bytes_per_s: read,
            bandwidth_share: read / limits.read,
            prefill_multiply_adds_per_s: work.total() as f64 / seconds,
            multiply_add_share: work.least_seconds(limits).map(|least| least / seconds),
        })
    }

    /// The arm by the better of the peers; none without peers.
    fn ratios(&self, summary: &ArmSummary) -> Option<Ratios<Option<Ratio>>> {
        (!self.peers.is_empty()).then(|| Ratios::new(&summary.figures, &self.peers))
    }

    /// The arm whose tokens the peers' are compared with: the one that computes as they do, or where it did not run the first.
    fn compared_with_peers(&self) -> Option<&ArmSummary> {
        self.arms.iter().find(|summary| summary.arm == Arm::After).or(self.arms.first())
    }

    fn peer_divergence(&self, peer: &PeerSummary<'_>) -> Option<PeerDivergence> {
        PeerDivergence::first(peer, self.compared_with_peers()?)
    }

    /// An error where tokens differ that must not, or the goldens changed meanwhile.
    pub(super) fn check(&self) -> Result<()> {
        let [before, after] = &self.machine.goldens_md5;
        if before != after {
            bail!("goldens/MD5SUMS changed during the bench");
        }
        match &self.comparison.failures()[..] {
            [] => Ok(()),
            failures => bail!("{}", failures.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests;
