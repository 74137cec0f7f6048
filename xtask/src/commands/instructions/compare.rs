//! [`Change`]: a count beside the stored one.

/// How far a count may be above the stored one, as a part of it: what another allocator or linker makes of calls is less.
const MORE: f64 = 0.05;

/// As far below, the stored count says little any more.
const FEWER: f64 = 0.05;

/// How a count compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Within the tolerance.
    Same,
    /// More instructions: a failure.
    More,
    /// Fewer: to be stored.
    Fewer,
    /// Nothing is stored: a failure.
    New,
}

impl Change {
    /// Of a count to the stored one.
    pub(super) fn of(count: u64, stored: Option<u64>) -> Self {
        let Some(stored) = stored else { return Self::New };
        match ratio(count, stored) {
            ratio if ratio > 1.0 + MORE => Self::More,
            ratio if ratio < 1.0 - FEWER => Self::Fewer,
            _ => Self::Same,
        }
    }

    /// What is said of it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Same => "",
            Self::More => "more",
            Self::Fewer => "fewer",
            Self::New => "not stored",
        }
    }

    /// Whether it is a failure.
    pub(super) const fn is_failure(self) -> bool {
        matches!(self, Self::More | Self::New)
    }
}

/// A count by the stored one.
pub(super) fn ratio(count: u64, stored: u64) -> f64 {
    count as f64 / stored as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_percent_more_is_a_failure_and_fewer_is_told() {
        let changes = [1051, 1050, 1000, 950, 949].map(|count| Change::of(count, Some(1000)));
        assert_eq!(changes, [Change::More, Change::Same, Change::Same, Change::Same, Change::Fewer]);
        assert_eq!(Change::of(1, None), Change::New);
        assert_eq!(
            [Change::More, Change::New, Change::Fewer, Change::Same].map(Change::is_failure),
            [true, true, false, false]
        );
    }
}
