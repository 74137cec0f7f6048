//! [`Profile`]: where the time of forward passes went.

use std::time::{Duration, Instant};

/// Where the time of some passes went, as the caller's thread saw it: what other threads do counts while it waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Products with weights, the quantization of their activations included.
    pub matmul: Duration,
    /// Queries by keys, softmax, weights by values.
    pub attention: Duration,
    /// The rest: embeddings, norms, rotations, the cache, activation functions, entering the executor.
    pub other: Duration,
}

/// A part of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Matmul,
    Attention,
    Other,
}

/// Adds up the time of the parts where a profile is asked for; else it does nothing, and no clock is read.
#[derive(Debug, Default)]
pub(crate) struct Clock(Option<Running>);

#[derive(Debug)]
struct Running {
    /// Up to where time is accounted for.
    since: Instant,
    profile: Profile,
}

impl Clock {
    /// One that runs.
    pub(crate) fn running() -> Self {
        Self(Some(Running { since: Instant::now(), profile: Profile::default() }))
    }

    /// A pass begins: what was before is no part of it.
    pub(crate) fn start(&mut self) {
        if let Some(running) = &mut self.0 {
            running.since = Instant::now();
        }
    }

    /// All since the last call was this part.
    pub(crate) fn was(&mut self, part: Part) {
        if let Some(running) = &mut self.0 {
            running.account(part, Instant::now());
        }
    }

    /// What was added up since this was last asked; `None` where no profile is made.
    pub(crate) fn take(&mut self) -> Option<Profile> {
        self.0.as_mut().map(|running| std::mem::take(&mut running.profile))
    }
}

impl Running {
    /// All up to `now` was this part.
    fn account(&mut self, part: Part, now: Instant) {
        let sum = match part {
            Part::Matmul => &mut self.profile.matmul,
            Part::Attention => &mut self.profile.attention,
            Part::Other => &mut self.profile.other,
        };
        *sum += now - self.since;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_the_time_since_the_one_before() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut running = Running { since: start, profile: Profile::default() };
        for (part, ms) in [(Part::Other, 1), (Part::Matmul, 41), (Part::Attention, 44), (Part::Matmul, 50)] {
            running.account(part, at(ms));
        }
        let [other, matmul, attention] = [1, 46, 3].map(Duration::from_millis);
        let mut clock = Clock(Some(running));
        assert_eq!(clock.take(), Some(Profile { matmul, attention, other }));
        assert_eq!(clock.take(), Some(Profile::default()), "it begins anew");
    }

    #[test]
    fn what_was_before_a_pass_is_no_part_of_it() {
        let before = Instant::now();
        let mut clock = Clock(Some(Running { since: before, profile: Profile::default() }));
        clock.start();
        let Clock(Some(running)) = &clock else { panic!("it runs") };
        assert!(running.since >= before && running.profile == Profile::default());
    }

    #[test]
    fn nothing_is_added_up_unless_it_was_asked_for() {
        let mut clock = Clock::default();
        clock.start();
        clock.was(Part::Matmul);
        assert_eq!(clock.take(), None);
    }
}
