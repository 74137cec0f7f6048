//! [`Times`]: repetitions of one side of a row, and what they come to.

use std::time::Instant;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::super::processor::{ENOUGH, ProcessorTime};

/// A repetition.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(in super::super) struct Repetition {
    /// Of one multiplication.
    pub(in super::super) seconds: f64,
    /// The share of the processor time asked for that was got; none where the system does not tell.
    pub(in super::super) processor_share: Option<f64>,
}

impl Repetition {
    /// Whether it had the processor. Where the system does not tell, nothing is known against it.
    pub(in super::super) fn is_kept(&self) -> bool {
        self.processor_share.is_none_or(|share| share >= ENOUGH)
    }
}

/// What a side does between two turns of the others.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(in super::super) struct Turn {
    /// Seconds to fill. At least one repetition is made.
    pub(in super::super) seconds: f64,
}

/// A turn that would make more repetitions than this ends before its seconds do.
const MOST: usize = 1000;

impl Turn {
    /// Times `work`, which multiplies `copies` times.
    pub(in super::super) fn take(self, copies: usize, mut work: impl FnMut() -> Result<()>) -> Result<Vec<Repetition>> {
        let mut repetitions = Vec::new();
        let begin = Instant::now();
        while repetitions.is_empty() || (begin.elapsed().as_secs_f64() < self.seconds && repetitions.len() < MOST) {
            let before = ProcessorTime::now();
            let start = Instant::now();
            work()?;
            let elapsed = start.elapsed();
            let after = ProcessorTime::now();
            repetitions.push(Repetition {
                seconds: elapsed.as_secs_f64() / copies as f64,
                processor_share: before.zip(after).and_then(|(before, after)| after.share_since(&before)),
            });
        }
        Ok(repetitions)
    }
}

/// Best and median of the repetitions that had the processor, or where there is none of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Times {
    pub(in super::super) best: f64,
    pub(in super::super) median: f64,
    /// Repetitions that had the processor.
    pub(in super::super) kept: usize,
    pub(in super::super) made: usize,
}

impl Times {
    /// None of no repetitions.
    pub(in super::super) fn of(repetitions: &[Repetition]) -> Option<Self> {
        let seconds = |kept: bool| repetitions.iter().filter(move |it| !kept || it.is_kept()).map(|it| it.seconds);
        let kept = seconds(true).count();
        let mut sorted: Vec<_> = seconds(kept > 0).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let median = (sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0;
        Some(Self { best: sorted[0], median, kept, made: repetitions.len() })
    }
}

/// The geometric mean of positive numbers; none of none.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(repetitions: &[(f64, Option<f64>)]) -> Option<Times> {
        let made: Vec<_> =
            repetitions.iter().map(|&(seconds, processor_share)| Repetition { seconds, processor_share }).collect();
        Times::of(&made)
    }

    #[test]
    fn repetitions_without_the_processor_do_not_count() {
        assert_eq!(
            times(&[(4.0, Some(0.98)), (1.0, Some(0.5)), (2.0, Some(ENOUGH)), (3.0, None)]),
            Some(Times { best: 2.0, median: 3.0, kept: 3, made: 4 })
        );
        assert_eq!(
            times(&[(4.0, Some(0.9)), (1.0, Some(0.5))]),
            Some(Times { best: 1.0, median: 2.5, kept: 0, made: 2 })
        );
        assert_eq!(times(&[]), None);
    }

    #[test]
    fn the_geometric_mean_is_of_ratios() {
        assert!((geometric_mean(&[2.0, 8.0, 0.25]).expect("some") - 4.0_f64.cbrt()).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn a_turn_makes_a_repetition_and_fills_its_time() {
        let mut calls = 0;
        let mut work = || {
            calls += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        };
        let one = Turn { seconds: 0.0 }.take(2, &mut work).expect("no failure");
        assert!(one.len() == 1 && one[0].seconds >= 0.0005 && one[0].seconds < 0.5);
        let some = Turn { seconds: 0.02 }.take(1, &mut work).expect("no failure");
        assert_eq!(calls, 1 + some.len());
        assert!(Turn { seconds: 1.0 }.take(1, || anyhow::bail!("no")).is_err());
    }
}
