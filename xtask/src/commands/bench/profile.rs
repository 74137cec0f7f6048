//! [`PassProfiles`]: where the time of a run's passes went.

use keepq_decoder::Profile;
use serde::{Deserialize, Serialize};

use super::run::{Run, milliseconds};

/// Milliseconds of the parts of a pass.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct PartTimes {
    pub(super) matmul: f64,
    pub(super) attention: f64,
    pub(super) other: f64,
}

/// Where the time goes: in the prompt, and in each further token on average.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct PassProfiles {
    pub(super) prefill: PartTimes,
    pub(super) decode: PartTimes,
}

impl PartTimes {
    /// What `passes` passes took, for one of them.
    pub(super) fn of(profile: Profile, passes: usize) -> Self {
        let Profile { matmul, attention, other } = profile;
        let [matmul, attention, other] = [matmul, attention, other].map(|part| milliseconds(part) / passes as f64);
        Self { matmul, attention, other }
    }

    fn parts(&self) -> [f64; 3] {
        [self.matmul, self.attention, self.other]
    }

    /// The parts by their sum, in that order.
    pub(super) fn shares(&self) -> [f64; 3] {
        let sum: f64 = self.parts().iter().sum();
        self.parts().map(|part| if sum > 0.0 { part / sum } else { 0.0 })
    }
}

impl PassProfiles {
    /// Of several runs the fastest, in the prompt and in further tokens: what slowed others down is no part of theirs. None where the
    /// decoder does not know.
    pub(super) fn of_fastest(runs: &[&Run]) -> Option<Self> {
        let fastest = |time: fn(&Run) -> f64| runs.iter().min_by(|a, b| time(a).total_cmp(&time(b)))?.profile;
        let (prefill, decode) = (fastest(|run| run.ttft_ms)?.prefill, fastest(|run| run.tpot_ms)?.decode);
        Some(Self { prefill, decode })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::example;
    use super::*;

    #[test]
    fn shares_are_of_the_sum() {
        let times = PartTimes { matmul: 3.0, attention: 0.5, other: 0.5 };
        assert_eq!(times.shares(), [0.75, 0.125, 0.125]);
        assert_eq!(PartTimes::default().shares(), [0.0; 3]);
    }

    #[test]
    fn several_passes_are_averaged() {
        let [matmul, attention, other] = [6, 2, 4].map(Duration::from_millis);
        let decode = PartTimes::of(Profile { matmul, attention, other }, 2);
        assert_eq!(decode, PartTimes { matmul: 3.0, attention: 1.0, other: 2.0 });
    }

    #[test]
    fn of_several_runs_the_fastest_counts() {
        let run = |ttft_ms, tpot_ms| {
            let [prefill, decode] = [ttft_ms, tpot_ms].map(|matmul| PartTimes { matmul, ..PartTimes::default() });
            Run { ttft_ms, tpot_ms, profile: Some(PassProfiles { prefill, decode }), ..example::run() }
        };
        let (a, b) = (run(20.0, 3.0), run(10.0, 4.0));
        let fastest = PassProfiles::of_fastest(&[&a, &b]).expect("two runs");
        assert_eq!((fastest.prefill.matmul, fastest.decode.matmul), (10.0, 3.0));
        assert_eq!(PassProfiles::of_fastest(&[]), None);
    }
}
