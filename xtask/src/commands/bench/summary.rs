//! The runs of one arm, or of one peer, as medians: [`ArmSummary`], [`PeerSummary`], and what they have in common, [`Figures`].

use anyhow::{Result, bail, ensure};
use keepq_goldens::Output;

use super::arm::Arm;
use super::arm_run::ArmRun;
use super::first_token::FirstToken;
use super::multiply_adds::MultiplyAdds;
use super::peer::Peer;
use super::process::Work;
use super::profile::PassProfiles;
use super::run::Run;

/// Median, least and most of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Of at least one value; of an even number of them the median is between the two in the middle.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let median = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
        Self { median, min: values[0], max: values[last] }
    }
}

/// What the runs of one decoder say.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) load_ms: Spread,
    /// From the start of a process to the first token after a short text; of the runs that had the processor meanwhile, or where there
    /// is none of all. None where it was not measured.
    pub(super) first_token_ms: Option<Spread>,
    /// Of the fastest of the same runs as the times; none where the decoder does not know.
    pub(super) profile: Option<PassProfiles>,
    pub(super) ttft_ms: Spread,
    pub(super) tpot_ms: Spread,
    /// Prompt tokens a second, of the median.
    pub(super) prefill_tps: f64,
    /// Generated tokens a second, of the median, without the first.
    pub(super) decode_tps: f64,
    /// The most of any run.
    pub(super) peak_rss_bytes: Option<u64>,
    /// The share of the processor time asked for that each run got.
    pub(super) processor_shares: Vec<Option<f64>>,
    /// How many runs got enough of it ([`Run::is_kept`]). The times are theirs, or where there is none those of all runs.
    pub(super) kept: usize,
    /// Of the ids.
    pub(super) token_md5: String,
    /// What the first run generated.
    pub(super) ids: Vec<u32>,
    /// The lead of each id over the second choice.
    pub(super) leads: Vec<f32>,
}

impl Figures {
    /// Sums up at least one run.
    fn new(work: &Work, runs: &[&Run]) -> Result<Self> {
        let Some(first) = runs.first() else { bail!("no runs") };
        let kept: Vec<&Run> = runs.iter().copied().filter(|run| run.is_kept()).collect();
        let timed = if kept.is_empty() { runs.to_vec() } else { kept.clone() };
        let spread = |number: fn(&Run) -> f64| Spread::of(timed.iter().map(|run| number(run)).collect());
        let (ttft_ms, tpot_ms) = (spread(|run| run.ttft_ms), spread(|run| run.tpot_ms));
        Ok(Self {
            load_ms: spread(|run| run.load_ms),
            first_token_ms: first_token_ms(runs),
            profile: PassProfiles::of_fastest(&timed),
            ttft_ms,
            tpot_ms,
            prefill_tps: work.prompt.len() as f64 * 1e3 / ttft_ms.median,
            decode_tps: 1e3 / tpot_ms.median,
            peak_rss_bytes: runs.iter().filter_map(|run| run.peak_rss_bytes).max(),
            processor_shares: runs.iter().map(|run| run.processor_share).collect(),
            kept: kept.len(),
            token_md5: token_md5(&first.ids),
            ids: first.ids.clone(),
            leads: first.leads.clone(),
        })
    }

    /// How many runs there were.
    pub(super) fn runs(&self) -> usize {
        self.processor_shares.len()
    }
}

fn first_token_ms(runs: &[&Run]) -> Option<Spread> {
    let all: Vec<_> = runs.iter().filter_map(|run| run.first_token).collect();
    let kept: Vec<_> = all.iter().copied().filter(FirstToken::is_kept).collect();
    let timed = if kept.is_empty() { all } else { kept };
    (!timed.is_empty()).then(|| Spread::of(timed.iter().map(|run| run.ms).collect()))
}

/// What the runs of one arm say.
#[derive(Debug)]
pub(super) struct ArmSummary {
    pub(super) arm: Arm,
    pub(super) figures: Figures,
    pub(super) tier: String,
    pub(super) weight_bytes: u64,
    pub(super) prompt_multiply_adds: MultiplyAdds,
}

impl ArmSummary {
    /// Sums up at least one run; the tokens of all must be the same.
    pub(super) fn new(arm: Arm, work: &Work, runs: &[ArmRun]) -> Result<Self> {
        let Some(first) = runs.first() else { bail!("arm {arm}: no runs") };
        ensure!(runs.iter().all(|run| run.run.ids == first.run.ids), "arm {arm}: two runs generated different tokens");
        Ok(Self {
            arm,
            figures: Figures::new(work, &runs.iter().map(|run| &run.run).collect::<Vec<_>>())?,
            tier: first.tier.clone(),
            weight_bytes: first.weight_bytes,
            prompt_multiply_adds: first.prompt_multiply_adds,
        })
    }
}

/// What the runs of one peer say.
#[derive(Debug)]
pub(super) struct PeerSummary<'b> {
    pub(super) peer: Peer<'b>,
    pub(super) figures: Figures,
    /// Whether all runs generated the same tokens; that is llama.cpp's affair.
    pub(super) same_tokens: bool,
}

impl<'b> PeerSummary<'b> {
    /// Sums up at least one run.
    pub(super) fn new(peer: Peer<'b>, work: &Work, runs: &[Run]) -> Result<Self> {
        let figures = Figures::new(work, &runs.iter().collect::<Vec<_>>())?;
        let same_tokens = runs.iter().all(|run| run.ids == figures.ids);
        Ok(Self { peer, figures, same_tokens })
    }
}

/// The MD5 of the ids as decimal numbers, a line each: `jq '.after[]' FILE | md5sum` of the file that `--ids` writes.
fn token_md5(ids: &[u32]) -> String {
    Output::of_bytes(ids.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect()).md5()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::super::peer::Setting;
    use super::super::processor::ENOUGH;
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of(vec![5.0]), Spread { median: 5.0, min: 5.0, max: 5.0 });
    }

    /// As `printf '1\n20\n' | md5sum` has it.
    #[test]
    fn tokens_are_hashed_as_lines() {
        assert_eq!(token_md5(&[1, 20]), "8d8838b8724b3f44865622531387fcab");
    }

    /// Runs that took so long to the first token and got such a share of the processor.
    fn figures(runs: &[(f64, Option<f64>)]) -> Figures {
        let runs = runs.iter().map(|&(ttft_ms, processor_share)| Run { ttft_ms, processor_share, ..example::run() });
        let runs: Vec<_> = runs.collect();
        Figures::new(&example::work(), &runs.iter().collect::<Vec<_>>()).expect("runs")
    }

    #[test]
    fn runs_without_the_processor_are_left_out_of_the_medians() {
        let some = figures(&[(40.0, Some(0.5)), (10.0, Some(0.99)), (20.0, Some(ENOUGH)), (30.0, Some(0.9699))]);
        assert_eq!(some.ttft_ms, Spread { median: 15.0, min: 10.0, max: 20.0 });
        assert_eq!((some.kept, some.runs()), (2, 4));
        assert_eq!(some.processor_shares[0], Some(0.5));

        let none = figures(&[(40.0, Some(0.5)), (10.0, Some(0.6))]);
        assert_eq!(none.ttft_ms, Spread { median: 25.0, min: 10.0, max: 40.0 });
        assert_eq!((none.kept, none.runs()), (0, 2));

        let unknown = figures(&[(40.0, None), (10.0, None)]);
        assert_eq!((unknown.ttft_ms.median, unknown.kept), (25.0, 2));
    }

    #[test]
    fn the_memory_is_the_most_of_any_run() {
        let runs = [(Some(7), 0.1), (Some(5), 1.0), (None, 1.0)].map(|(peak_rss_bytes, share)| Run {
            peak_rss_bytes,
            processor_share: Some(share),
            ..example::run()
        });
        let figures = Figures::new(&example::work(), &runs.iter().collect::<Vec<_>>()).expect("runs");
        assert_eq!((figures.peak_rss_bytes, figures.kept), (Some(7), 2));
    }

    #[test]
    fn an_arm_always_generates_the_same_and_a_peer_should() {
        let (arms, peers) = (example::arm_run(example::run()), example::run());
        let other = Run { ids: vec![9; 4], ..example::run() };
        let build = example::build("0.4.0");
        let peer = Peer { build: &build, setting: Setting::Plain };

        let error = ArmSummary::new(Arm::After, &example::work(), &[arms, example::arm_run(other.clone())]);
        assert_eq!(error.expect_err("different").to_string(), "arm after: two runs generated different tokens");
        let same = |runs: &[Run]| PeerSummary::new(peer, &example::work(), runs).expect("runs").same_tokens;
        assert!(same(&[peers.clone(), peers.clone()]));
        assert!(!same(&[peers, other]));
    }
}
