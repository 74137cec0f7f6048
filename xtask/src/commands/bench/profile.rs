//! [`PassProfiles`]: where the time of a run's passes went.

use keepq_decoder::Profile;
use serde::{Deserialize, Serialize};

use super::run::milliseconds;

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

    /// The mean of some.
    fn mean(times: &[Self]) -> Self {
        let mean = |part: fn(&Self) -> f64| times.iter().map(part).sum::<f64>() / times.len() as f64;
        Self {
            matmul: mean(|time| time.matmul),
            attention: mean(|time| time.attention),
            other: mean(|time| time.other),
        }
    }
}

impl PassProfiles {
    /// The mean of several runs; none where there are none.
    pub(super) fn mean(profiles: &[Self]) -> Option<Self> {
        let of = |pass: fn(&Self) -> PartTimes| PartTimes::mean(&profiles.iter().map(pass).collect::<Vec<_>>());
        (!profiles.is_empty()).then(|| Self { prefill: of(|both| both.prefill), decode: of(|both| both.decode) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_are_of_the_sum() {
        let times = PartTimes { matmul: 3.0, attention: 0.5, other: 0.5 };
        assert_eq!(times.shares(), [0.75, 0.125, 0.125]);
        assert_eq!(PartTimes::default().shares(), [0.0; 3]);
    }

    #[test]
    fn several_passes_and_several_runs_are_averaged() {
        let [matmul, attention, other] = [6, 2, 4].map(Duration::from_millis);
        let decode = PartTimes::of(Profile { matmul, attention, other }, 2);
        assert_eq!(decode, PartTimes { matmul: 3.0, attention: 1.0, other: 2.0 });
        let run = PassProfiles { decode, ..PassProfiles::default() };
        let mean = PassProfiles::mean(&[run, PassProfiles::default()]).expect("two runs");
        assert_eq!(mean.decode, PartTimes { matmul: 1.5, attention: 0.5, other: 1.0 });
        assert_eq!(PassProfiles::mean(&[]), None);
    }
}
