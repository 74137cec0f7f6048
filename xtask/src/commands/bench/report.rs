//! The result of `bench`, for people and as JSON.

use std::fmt;

use anyhow::{Result, bail};
use serde::Serialize;

use super::arm::Arm;
use super::compare::{Comparison, Divergence};
use super::limits::Limits;
use super::machine::Machine;
use super::process::Work;
use super::summary::{Spread, Summary};
use crate::columns::{Align, aligned};
use crate::runtime::megabytes;

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
    pub(super) summaries: Vec<Summary>,
    pub(super) comparison: Comparison,
}

/// The line of an arm. The first keys are fixed; others may be added after them.
#[derive(Serialize)]
struct Line<'r> {
    arm: &'r str,
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
    first_divergence: Option<Divergence>,

    tier: &'r str,
    load_ms: f64,
    /// Least and most.
    load_ms_range: [f64; 2],
    ttft_ms_range: [f64; 2],
    tpot_ms_range: [f64; 2],
    reps: u32,
    sha256: &'r str,
    excuse_threshold: Option<f32>,
    #[serde(flatten)]
    share: Option<Share>,
    #[serde(flatten)]
    machine: &'r Machine,
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
    /// A line of JSON for each arm.
    pub(super) fn json(&self) -> Result<String> {
        let mut text = String::new();
        for summary in &self.summaries {
            let range = |spread: Spread| [spread.min, spread.max];
            let line = Line {
                arm: summary.arm.name(),
                model: &self.model,
                threads: self.work.threads,
                prompt_len: self.work.prompt.len(),
                gen_len: self.work.gen_len,
                ttft_ms: summary.ttft_ms.median,
                tpot_ms: summary.tpot_ms.median,
                prefill_tps: summary.prefill_tps,
                decode_tps: summary.decode_tps,
                peak_rss_bytes: summary.peak_rss_bytes,
                token_md5: &summary.token_md5,
                first_divergence: self.comparison.first_divergence(summary.arm),
                tier: &summary.tier,
                load_ms: summary.load_ms.median,
                load_ms_range: range(summary.load_ms),
                ttft_ms_range: range(summary.ttft_ms),
                tpot_ms_range: range(summary.tpot_ms),
                reps: self.reps,
                sha256: &self.sha256,
                excuse_threshold: self.comparison.excuse_threshold,
                share: self.share(summary),
                machine: &self.machine,
            };
            text += &(serde_json::to_string(&line)? + "\n");
        }
        Ok(text)
    }

    /// The arm before's part of what the machine could do.
    fn share(&self, summary: &Summary) -> Option<Share> {
        let limits = self.limits.filter(|_| summary.arm == Arm::Before)?;
        let read = summary.weight_bytes as f64 * 1e3 / summary.tpot_ms.median;
        let multiply_adds = summary.prompt_multiply_adds as f64 * 1e3 / summary.ttft_ms.median;
        Some(Share {
            decode_bytes_per_s: read,
            bandwidth_share: read / limits.read,
            prefill_multiply_adds_per_s: multiply_adds,
            multiply_add_share: multiply_adds / limits.multiply_adds,
        })
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

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, sha256, work, reps, machine, .. } = self;
        let [load_before, load_after] =
            machine.load_average.map(|load| load.map_or("?".into(), |load| load.to_string()));
        let [goldens_before, goldens_after] =
            machine.goldens_md5.each_ref().map(|md5| md5.as_deref().unwrap_or("none"));
        writeln!(f, "model    {model}, SHA-256 {sha256}")?;
        writeln!(
            f,
            "machine  {}, {} cores; load {load_before} before, {load_after} after",
            machine.cpu, machine.cores
        )?;
        writeln!(f, "goldens  MD5 {goldens_before} before, {goldens_after} after")?;
        let (prompt, generated, threads) = (work.prompt.len(), work.gen_len, work.threads);
        writeln!(
            f,
            "run      threads {threads}, prompt {prompt}, generated {generated}; medians of {reps} (least–most)\n"
        )?;

        f.write_str(&self.table())?;
        writeln!(f)?;
        self.write_shares(f)?;
        self.write_comparison(f)
    }
}

impl Report<'_> {
    /// A row an arm.
    fn table(&self) -> String {
        let head =
            ["arm", "tier", "load ms", "TTFT ms", "TPOT ms", "prefill t/s", "decode t/s", "peak RSS", "tokens (MD5)"];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(self.summaries.iter().map(|summary| {
            [
                summary.arm.to_string(),
                summary.tier.clone(),
                summary.load_ms.to_string(),
                summary.ttft_ms.to_string(),
                summary.tpot_ms.to_string(),
                format!("{:.1}", summary.prefill_tps),
                format!("{:.1}", summary.decode_tps),
                summary.peak_rss_bytes.map_or("?".into(), megabytes),
                summary.token_md5.clone(),
            ]
        }));
        let mut columns = [Align::Right; 9];
        columns[0] = Align::Left;
        columns[1] = Align::Left;
        columns[8] = Align::Left;
        aligned(columns, &rows)
    }

    fn write_shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for summary in &self.summaries {
            let Some(share) = self.share(summary) else { continue };
            writeln!(
                f,
                "{}: decode reads {:.1} GB/s of weights, {:.0}% of what these threads read of as much memory; \
                 prefill does {:.1} G multiply-adds/s, {:.0}% of what they do in registers",
                summary.arm,
                share.decode_bytes_per_s / 1e9,
                share.bandwidth_share * 1e2,
                share.prefill_multiply_adds_per_s / 1e9,
                share.multiply_add_share * 1e2,
            )?;
        }
        Ok(())
    }

    fn write_comparison(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(reference) = self.comparison.reference else { return Ok(()) };
        for summary in self.summaries.iter().filter(|summary| summary.arm != reference) {
            let arm = summary.arm;
            match (self.comparison.first_divergence(arm), self.comparison.excuse_threshold) {
                (None, _) => writeln!(f, "{arm}: all {} tokens are those of {reference}", summary.ids.len())?,
                (Some(Divergence { position, oracle_lead }), threshold) => {
                    write!(
                        f,
                        "{arm}: differs from {reference} at token {position}, where {reference} leads by {oracle_lead}"
                    )?;
                    match threshold {
                        Some(threshold) => writeln!(f, "; up to {threshold} is excused")?,
                        None => writeln!(f, "; no excuse threshold is known for this file")?,
                    }
                }
            }
        }
        self.comparison.failures().iter().try_for_each(|failure| writeln!(f, "FAILED {failure}"))
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, min, max } = self;
        write!(f, "{median:.2} ({min:.2}–{max:.2})")
    }
}
