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
    /// Where the arm before ran.
    pub(super) limits: Option<Limits>,
    pub(super) arms: Vec<ArmSummary>,
    pub(super) comparison: Comparison,
    /// The builds of llama.cpp that ran too.
    pub(super) builds: &'w [Build],
    pub(super) peers: Vec<PeerSummary<'w>>,
}

/// What the arm before makes of the machine.
#[derive(Clone, Copy, Serialize)]
struct Share {
    /// Bytes of weights read in decoding, a second.
    decode_bytes_per_s: f64,
    /// That by what the threads read of as much memory, over and over.
    bandwidth_share: f64,
    /// Multiply-adds of weights in prefill, a second.
    prefill_multiply_adds_per_s: f64,
    /// That by what the threads do in registers.
    multiply_add_share: f64,
}

impl Report<'_> {
    /// The arm before's part of what the machine could do.
    fn share(&self, summary: &ArmSummary) -> Option<Share> {
        let limits = self.limits.filter(|_| summary.arm == Arm::Before)?;
        let read = summary.weight_bytes as f64 * 1e3 / summary.figures.tpot_ms.median;
        let multiply_adds = summary.prompt_multiply_adds as f64 * 1e3 / summary.figures.ttft_ms.median;
        Some(Share {
            decode_bytes_per_s: read,
            bandwidth_share: read / limits.read,
            prefill_multiply_adds_per_s: multiply_adds,
            multiply_add_share: multiply_adds / limits.multiply_adds,
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
