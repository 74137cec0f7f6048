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
        if let Some(Running { since, profile }) = &mut self.0 {
            let now = Instant::now();
            let sum = match part {
                Part::Matmul => &mut profile.matmul,
                Part::Attention => &mut profile.attention,
                Part::Other => &mut profile.other,
            };
            *sum += now - *since;
            *since = now;
        }
    }

    /// What was added up since this was last asked; `None` where no profile is made.
    pub(crate) fn take(&mut self) -> Option<Profile> {
        self.0.as_mut().map(|running| std::mem::take(&mut running.profile))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn each_part_has_the_time_since_the_one_before() {
        let (short, long) = (Duration::from_millis(1), Duration::from_millis(40));
        let mut clock = Clock::running();
        sleep(long); // no part of a pass
        clock.start();
        for (part, time) in [(Part::Other, short), (Part::Matmul, long), (Part::Attention, short)] {
            sleep(time);
            clock.was(part);
        }
        let profile = clock.take().expect("a profile");
        assert!(profile.matmul >= long && profile.attention >= short && profile.other >= short, "{profile:?}");
        assert!(profile.other < long, "{profile:?}");
        assert_eq!(clock.take(), Some(Profile::default()));
    }

    #[test]
    fn nothing_is_added_up_unless_it_was_asked_for() {
        let mut clock = Clock::default();
        clock.start();
        clock.was(Part::Matmul);
        assert_eq!(clock.take(), None);
    }
}
