//! [`Summary`]: the runs of one arm, as medians.

use anyhow::{Result, bail, ensure};
use keepq_goldens::Output;

use super::arm::Arm;
use super::process::{Run, Work};

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

/// What the runs of one arm say.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) arm: Arm,
    pub(super) tier: String,
    pub(super) load_ms: Spread,
    pub(super) ttft_ms: Spread,
    pub(super) tpot_ms: Spread,
    /// Prompt tokens a second, of the median.
    pub(super) prefill_tps: f64,
    /// Generated tokens a second, of the median, without the first.
    pub(super) decode_tps: f64,
    /// The most of any run.
    pub(super) peak_rss_bytes: Option<u64>,
    pub(super) weight_bytes: u64,
    pub(super) prompt_multiply_adds: u64,
    pub(super) token_md5: String,
    pub(super) ids: Vec<u32>,
    pub(super) leads: Vec<f32>,
}

impl Summary {
    /// Sums up at least one run; the tokens of all must be the same.
    pub(super) fn new(arm: Arm, work: &Work, runs: Vec<Run>) -> Result<Self> {
        let Some(first) = runs.first() else { bail!("arm {arm}: no runs") };
        ensure!(runs.iter().all(|run| run.ids == first.ids), "arm {arm}: two runs generated different tokens");
        let spread = |number: fn(&Run) -> f64| Spread::of(runs.iter().map(number).collect());
        let (ttft_ms, tpot_ms) = (spread(|run| run.ttft_ms), spread(|run| run.tpot_ms));
        Ok(Self {
            arm,
            tier: first.tier.clone(),
            load_ms: spread(|run| run.load_ms),
            ttft_ms,
            tpot_ms,
            prefill_tps: work.prompt.len() as f64 * 1e3 / ttft_ms.median,
            decode_tps: 1e3 / tpot_ms.median,
            peak_rss_bytes: runs.iter().filter_map(|run| run.peak_rss_bytes).max(),
            weight_bytes: first.weight_bytes,
            prompt_multiply_adds: first.prompt_multiply_adds,
            token_md5: token_md5(&first.ids),
            ids: first.ids.clone(),
            leads: first.leads.clone(),
        })
    }
}

/// The MD5 of the ids as decimal numbers, a line each: `jq '.after[]' FILE | md5sum` of the file that `--ids` writes.
fn token_md5(ids: &[u32]) -> String {
    Output::of_bytes(ids.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect()).md5()
}

#[cfg(test)]
mod tests {
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
}
