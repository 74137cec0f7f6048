//! [`Run`]: a prompt and the tokens that follow it, timed in the same way for every decoder.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use keepq_decoder::{Profile, argmax};
use serde::{Deserialize, Serialize};

use super::first_token::FirstToken;
use super::processor::{ENOUGH, ProcessorTime};
use super::profile::{PartTimes, PassProfiles};

/// What is timed.
pub(super) trait Decoder {
    /// Runs `tokens` after those before them, and returns the logits after the last.
    fn feed(&mut self, tokens: &[u32]) -> Result<&[f32]>;

    /// Where the time went since this was last asked, where the decoder knows.
    fn take_profile(&mut self) -> Option<Profile> {
        None
    }
}

/// What a run tells.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Run {
    /// From opening the file to a model that is ready.
    pub(super) load_ms: f64,
    /// The whole prompt to the first token, loading excluded.
    pub(super) ttft_ms: f64,
    /// Each further token, on average.
    pub(super) tpot_ms: f64,
    /// The most memory that was resident at a time; none where the system does not tell.
    pub(super) peak_rss_bytes: Option<u64>,
    /// The share of the processor time asked for that was got, from the prompt to the last token; none where the system does not
    /// tell.
    pub(super) processor_share: Option<f64>,
    /// From the start of a process to the first token after a short text. It takes a process of its own, so that it is added to what
    /// this one tells.
    #[serde(skip)]
    pub(super) first_token: Option<FirstToken>,
    /// Where the time went, if the decoder knows.
    pub(super) profile: Option<PassProfiles>,
    /// The ids generated.
    pub(super) ids: Vec<u32>,
    /// The lead of each over the second choice.
    pub(super) leads: Vec<f32>,
}

impl Run {
    /// Whether it had the processor. Where the system does not tell, nothing is known against it.
    pub(super) fn is_kept(&self) -> bool {
        self.processor_share.is_none_or(|share| share >= ENOUGH)
    }

    /// Generates `gen_len` tokens, at least two, greedily; loading the model took `load`.
    pub(super) fn measure(load: Duration, decoder: &mut impl Decoder, prompt: &[u32], gen_len: usize) -> Result<Self> {
        let before = ProcessorTime::now();
        let mut steps = vec![Step::new(decoder, prompt)?];
        let prefill = decoder.take_profile();
        while steps.len() < gen_len {
            let last = steps[steps.len() - 1].id;
            steps.push(Step::new(decoder, &[last])?);
        }
        let after = ProcessorTime::now();
        let decode = decoder.take_profile();

        let (first, further) = (&steps[0], &steps[1..]);
        Ok(Self {
            load_ms: milliseconds(load),
            ttft_ms: milliseconds(first.elapsed),
            tpot_ms: milliseconds(further.iter().map(|step| step.elapsed).sum()) / further.len() as f64,
            peak_rss_bytes: peak_rss_bytes(),
            processor_share: before.zip(after).and_then(|(before, after)| after.share_since(&before)),
            first_token: None,
            profile: prefill.zip(decode).map(|(prefill, decode)| PassProfiles {
                prefill: PartTimes::of(prefill, 1),
                decode: PartTimes::of(decode, further.len()),
            }),
            ids: steps.iter().map(|step| step.id).collect(),
            leads: steps.iter().map(|step| step.lead).collect(),
        })
    }
}

/// A token, greedily chosen.
struct Step {
    id: u32,
    /// The lead of its logit over the second.
    lead: f32,
    elapsed: Duration,
}

impl Step {
    fn new(decoder: &mut impl Decoder, tokens: &[u32]) -> Result<Self> {
        let start = Instant::now();
        let logits = decoder.feed(tokens)?;
        let id = argmax(logits).context("all logits are NaN")?;
        let elapsed = start.elapsed();

        let others = (0..).zip(logits).filter(|&(other, logit)| other != id && !logit.is_nan());
        let second = others.map(|(_, logit)| *logit).fold(f32::NEG_INFINITY, f32::max);
        Ok(Self { id, lead: logits[id as usize] - second, elapsed })
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The high-water mark of this process's resident memory, as Linux keeps it.
fn peak_rss_bytes() -> Option<u64> {
    parse_peak(&fs::read_to_string("/proc/self/status").ok()?)
}

fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status() {
        assert_eq!(
            parse_peak("Name:\txtask\nVmPeak:\t  9 kB\nVmHWM:\t   1284 kB\nVmRSS:\t  8 kB\n"),
            Some(1284 * 1024)
        );
        assert_eq!(parse_peak("Name:\txtask\n"), None);
    }

    /// Chooses as many tokens on from the last as it was given, and remembers what that was.
    struct Counting {
        fed: Vec<Vec<u32>>,
        logits: [f32; 8],
    }

    impl Decoder for Counting {
        fn feed(&mut self, tokens: &[u32]) -> Result<&[f32]> {
            self.fed.push(tokens.to_vec());
            self.logits = [0.0; 8];
            let chosen = (tokens[tokens.len() - 1] as usize + tokens.len()) % 8;
            self.logits[chosen] = 1.5;
            self.logits[(chosen + 1) % 8] = 1.0;
            Ok(&self.logits)
        }
    }

    #[test]
    fn the_prompt_goes_at_once_and_then_each_choice() {
        let mut decoder = Counting { fed: Vec::new(), logits: [0.0; 8] };
        let run = Run::measure(Duration::from_millis(2), &mut decoder, &[0, 1, 2], 3).expect("a run");
        assert_eq!(decoder.fed, [vec![0, 1, 2], vec![5], vec![6]]);
        assert_eq!((run.ids, run.leads), (vec![5, 6, 7], vec![0.5; 3]));
        assert_eq!(run.load_ms, 2.0);
        assert!(run.ttft_ms > 0.0 && run.tpot_ms > 0.0);
    }
}
