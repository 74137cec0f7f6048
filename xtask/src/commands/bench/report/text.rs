//! The result as text: a table, and what follows from it.

use std::fmt;

use super::super::compare::{Divergence, PeerDivergence};
use super::super::peer::Peer;
use super::super::processor::ENOUGH;
use super::super::profile::PassProfiles;
use super::super::ratio::Ratio;
use super::super::summary::{Figures, Spread};
use super::Report;
use crate::columns::{Align, aligned};
use crate::runtime::megabytes;

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
        for build in self.builds {
            let (folder, description) = (build.folder.display(), &build.description);
            let backend = description.backend.as_deref().unwrap_or("its CPU backend");
            writeln!(f, "peer     llama.cpp {}: {folder}, {backend}; {}", build.name, description.system_info)?;
        }
        let (prompt, generated, threads) = (work.prompt.len(), work.gen_len, work.threads);
        writeln!(
            f,
            "run      threads {threads}, prompt {prompt}, generated {generated}; medians of {reps} (least–most)\n"
        )?;

        f.write_str(&self.table())?;
        writeln!(f)?;
        self.write_ratios(f)?;
        self.write_profiles(f)?;
        self.write_left_out(f)?;
        self.write_shares(f)?;
        self.write_comparison(f)?;
        self.write_peer_comparison(f)
    }
}

impl Report<'_> {
    /// A row an arm, then a row a peer.
    fn table(&self) -> String {
        let head = [
            "arm",
            "tier",
            "load ms",
            "start to token ms",
            "TTFT ms",
            "TPOT ms",
            "prefill t/s",
            "decode t/s",
            "peak RSS",
            "runs",
            "tokens (MD5)",
        ];
        let row = |name: String, tier: &str, figures: &Figures| {
            [
                name,
                tier.to_owned(),
                figures.load_ms.to_string(),
                figures.first_token_ms.map_or("?".into(), |spread| spread.to_string()),
                figures.ttft_ms.to_string(),
                figures.tpot_ms.to_string(),
                format!("{:.1}", figures.prefill_tps),
                format!("{:.1}", figures.decode_tps),
                figures.peak_rss_bytes.map_or("?".into(), megabytes),
                format!("{}/{}{}", figures.kept, figures.runs(), if figures.kept == 0 { MARK } else { "" }),
                figures.token_md5.clone(),
            ]
        };
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(self.arms.iter().map(|summary| row(summary.arm.to_string(), &summary.tier, &summary.figures)));
        rows.extend(self.peers.iter().map(|summary| {
            row(summary.peer.to_string(), summary.peer.build.variant().unwrap_or("-"), &summary.figures)
        }));
        let mut columns = [Align::Right; 11];
        columns[0] = Align::Left;
        columns[1] = Align::Left;
        columns[10] = Align::Left;
        aligned(columns, &rows)
    }

    /// A row an arm: each quantity by that of the better peer, and which that is.
    fn write_ratios(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows =
            vec![["against the peer", "decode", "prefill", "peak RSS", "load", "start to token"].map(str::to_owned)];
        for summary in &self.arms {
            let Some(ratios) = self.ratios(summary) else { return Ok(()) };
            // Memory does not depend on who else runs, and the first token has runs of its own: their ratios have no mark.
            let cell = |ratio: Option<Ratio>, timed: bool| {
                let Some(Ratio { value, peer }) = ratio else { return "?".to_owned() };
                let (name, figures) = self.peer_among_ratios(peer);
                let marked = timed && (summary.figures.kept == 0 || figures.kept == 0);
                format!("{value:.2}{} ({name})", if marked { MARK } else { "" })
            };
            rows.push([
                summary.arm.to_string(),
                cell(ratios.decode, true),
                cell(ratios.prefill, true),
                cell(ratios.peak_rss, false),
                cell(ratios.load, true),
                cell(ratios.first_token, false),
            ]);
        }
        f.write_str(&aligned([Align::Left; 6], &rows))?;
        writeln!(
            f,
            "each by the better of the peer's rows: above 1 is faster, in memory, loading and starting below 1 is less\n"
        )
    }

    /// A peer as it is called there, and its figures.
    fn peer_among_ratios(&self, peer: usize) -> (String, &Figures) {
        let summary = &self.peers[peer];
        let Peer { build, setting } = summary.peer;
        let name = match self.builds {
            [_] => setting.name().to_owned(),
            _ => format!("{} {}", build.name, setting.name()),
        };
        (name, &summary.figures)
    }

    /// The name and figures of each row.
    fn rows(&self) -> impl Iterator<Item = (String, &Figures)> {
        let arms = self.arms.iter().map(|summary| (summary.arm.to_string(), &summary.figures));
        arms.chain(self.peers.iter().map(|summary| (summary.peer.to_string(), &summary.figures)))
    }

    /// How many runs the medians are without, and whose are of all runs since none would be left.
    fn write_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: usize = self.rows().map(|(_, figures)| figures.runs()).sum();
        let left_out: usize =
            self.rows().filter(|(_, figures)| figures.kept > 0).map(|(_, figures)| figures.runs() - figures.kept).sum();
        let percent = ENOUGH * 1e2;
        if left_out > 0 {
            writeln!(
                f,
                "{left_out} of {all} runs are left out of the medians: they got under {percent}% of the processor time they asked for"
            )?;
        }
        let without: Vec<_> = self.rows().filter(|(_, figures)| figures.kept == 0).map(|(name, _)| name).collect();
        if !without.is_empty() {
            writeln!(
                f,
                "no run of {} got {percent}% of the processor time it asked for: the medians marked {MARK} are of all",
                without.join(", ")
            )?;
        }
        Ok(())
    }

    /// Where the time of each arm goes.
    fn write_profiles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![["where the time goes", "matmul", "attention", "other"].map(str::to_owned)];
        for summary in &self.arms {
            let Some(PassProfiles { prefill, decode }) = summary.figures.profile else { continue };
            for (pass, times) in [("prefill", prefill), ("decode", decode)] {
                let [matmul, attention, other] = times.shares().map(|share| format!("{:.1}%", share * 1e2));
                rows.push([format!("{} {pass}", summary.arm), matmul, attention, other]);
            }
        }
        if rows.len() > 1 {
            writeln!(f, "{}", aligned([Align::Left, Align::Right, Align::Right, Align::Right], &rows))?;
        }
        Ok(())
    }

    fn write_shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for summary in &self.arms {
            let Some(share) = self.share(summary) else { continue };
            let prefill = share
                .multiply_add_share
                .map_or_else(String::new, |share| format!(", {:.0}% of what they do in registers", share * 1e2));
            writeln!(
                f,
                "{}: decode reads {:.1} GB/s of weights, {:.0}% of what these threads read of as much memory; \
                 prefill does {:.1} G multiply-adds/s{prefill}",
                summary.arm,
                share.decode_bytes_per_s / 1e9,
                share.bandwidth_share * 1e2,
                share.prefill_multiply_adds_per_s / 1e9,
            )?;
        }
        Ok(())
    }

    fn write_comparison(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(reference) = self.comparison.reference else { return Ok(()) };
        for summary in self.arms.iter().filter(|summary| summary.arm != reference) {
            let arm = summary.arm;
            match (self.comparison.first_divergence(arm), self.comparison.excuse_threshold) {
                (None, _) => writeln!(f, "{arm}: all {} tokens are those of {reference}", summary.figures.ids.len())?,
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

    fn write_peer_comparison(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ours) = self.compared_with_peers() else { return Ok(()) };
        let arm = ours.arm;
        for summary in &self.peers {
            write!(f, "{}: ", summary.peer)?;
            match self.peer_divergence(summary) {
                None => write!(f, "all {} tokens are those of {arm}", summary.figures.ids.len())?,
                Some(PeerDivergence { position, peer_lead, arm_lead }) => {
                    write!(
                        f,
                        "differs from {arm} at token {position}, where it leads by {peer_lead}, {arm} by {arm_lead}"
                    )?;
                    if let Some(threshold) = self.comparison.excuse_threshold {
                        write!(f, "; the excuse threshold is {threshold}")?;
                    }
                }
            }
            writeln!(f, "{}", if summary.same_tokens { "" } else { "; its runs generated different tokens" })?;
        }
        Ok(())
    }
}

/// What marks medians of runs that did not get the processor.
const MARK: &str = "*";

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, min, max } = self;
        write!(f, "{median:.2} ({min:.2}–{max:.2})")
    }
}
