//! The result as JSON: a line an arm, then a line a peer.

use anyhow::Result;
use serde::Serialize;

use super::super::machine::Machine;
use super::super::peer::{Description, Peer};
use super::super::profile::PassProfiles;
use super::super::ratio::Ratios;
use super::super::summary::{Figures, Spread};
use super::{Report, Share};

/// The line of an arm or a peer. The first keys are fixed; others may be added after them.
#[derive(Serialize)]
struct Line<'r, D> {
    #[serde(flatten)]
    who: Who<'r>,
    model: &'r str,
    threads: usize,
    prompt_len: usize,
    gen_len: usize,
    ttft_ms: f64,
    tpot_ms: f64,
    prefill_tps: f64,
    decode_tps: f64,
    peak_rss_bytes: Option<u64>,
    token_md5: &'r str,
    /// Of an arm from the oracle, of a peer from the arm after.
    first_divergence: Option<D>,

    load_ms: f64,
    /// From the start of a process to the first token after a short text.
    first_token_ms: Option<f64>,
    first_token_ms_range: Option<[f64; 2]>,
    /// Least and most.
    load_ms_range: [f64; 2],
    ttft_ms_range: [f64; 2],
    tpot_ms_range: [f64; 2],
    reps: u32,
    /// Repetitions that the medians are of; with none of them they are of all.
    kept_reps: usize,
    /// Of the processor time asked for, repetition by repetition.
    processor_shares: &'r [Option<f64>],
    sha256: &'r str,
    excuse_threshold: Option<f32>,
    #[serde(flatten)]
    arm: Option<ArmPart<'r>>,
    #[serde(flatten)]
    machine: &'r Machine,
}

/// Whose line it is.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Who<'r> {
    Arm(&'r str),
    Peer(PeerPart<'r>),
}

/// What a peer is.
#[derive(Serialize)]
struct PeerPart<'r> {
    name: String,
    setting: &'r str,
    folder: String,
    #[serde(flatten)]
    description: &'r Description,
}

/// What the line of an arm has beside.
#[derive(Serialize)]
struct ArmPart<'r> {
    tier: &'r str,
    /// Milliseconds of the prompt and of each further token.
    profile: Option<PassProfiles>,
    #[serde(flatten)]
    share: Option<Share>,
    #[serde(flatten)]
    against: Option<Against>,
}

/// An arm by the better of the peers.
#[derive(Serialize)]
struct Against {
    ratio: Ratios<Option<f64>>,
    /// The names of these peers.
    ratio_to: Ratios<Option<String>>,
}

impl Report<'_> {
    /// A line of JSON for each arm and each peer.
    pub(in super::super) fn json(&self) -> Result<String> {
        let mut text = String::new();
        for summary in &self.arms {
            let divergence = self.comparison.first_divergence(summary.arm);
            let mut line = self.line(Who::Arm(summary.arm.name()), &summary.figures, divergence);
            line.arm = Some(ArmPart {
                tier: &summary.tier,
                profile: summary.figures.profile,
                share: self.share(summary),
                against: self.ratios(summary).map(|ratios| Against {
                    ratio: ratios.map(|ratio| Some(ratio?.value)),
                    ratio_to: ratios.map(|ratio| Some(self.peers[ratio?.peer].peer.to_string())),
                }),
            });
            text += &(serde_json::to_string(&line)? + "\n");
        }
        for summary in &self.peers {
            let Peer { build, setting } = summary.peer;
            let who = Who::Peer(PeerPart {
                name: summary.peer.to_string(),
                setting: setting.name(),
                folder: build.folder.display().to_string(),
                description: &build.description,
            });
            let line = self.line(who, &summary.figures, self.peer_divergence(summary));
            text += &(serde_json::to_string(&line)? + "\n");
        }
        Ok(text)
    }

    fn line<'r, D>(&'r self, who: Who<'r>, figures: &'r Figures, first_divergence: Option<D>) -> Line<'r, D> {
        let range = |spread: Spread| [spread.min, spread.max];
        Line {
            who,
            model: &self.model,
            threads: self.work.threads,
            prompt_len: self.work.prompt.len(),
            gen_len: self.work.gen_len,
            ttft_ms: figures.ttft_ms.median,
            tpot_ms: figures.tpot_ms.median,
            prefill_tps: figures.prefill_tps,
            decode_tps: figures.decode_tps,
            peak_rss_bytes: figures.peak_rss_bytes,
            token_md5: &figures.token_md5,
            first_divergence,
            load_ms: figures.load_ms.median,
            first_token_ms: figures.first_token_ms.map(|spread| spread.median),
            first_token_ms_range: figures.first_token_ms.map(range),
            load_ms_range: range(figures.load_ms),
            ttft_ms_range: range(figures.ttft_ms),
            tpot_ms_range: range(figures.tpot_ms),
            reps: self.reps,
            kept_reps: figures.kept,
            processor_shares: &figures.processor_shares,
            sha256: &self.sha256,
            excuse_threshold: self.comparison.excuse_threshold,
            arm: None,
            machine: &self.machine,
        }
    }
}
