//! [`Ratios`]: an arm against the better of what the peers reach, quantity by quantity.

use serde::Serialize;

use super::summary::{Figures, PeerSummary};

/// The quantities that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Ratios<T> {
    /// Generated tokens a second: above 1 the arm is faster.
    pub(super) decode: T,
    /// Prompt tokens a second: above 1 the arm is faster.
    pub(super) prefill: T,
    /// Below 1 the arm needs less memory.
    pub(super) peak_rss: T,
    /// Below 1 the arm loads sooner.
    pub(super) load: T,
    /// From the start of a process to the first token: below 1 the arm is sooner.
    pub(super) first_token: T,
}

/// A ratio, and which of the peers it is to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) value: f64,
    /// Index of the peer.
    pub(super) peer: usize,
}

/// Which of two values of a quantity is better.
#[derive(Clone, Copy, PartialEq)]
enum Better {
    More,
    Less,
}

impl Ratios<Option<Ratio>> {
    /// The arm's value of each quantity by the best of the peers' values. None without peers, or where a value is not known.
    pub(super) fn new(arm: &Figures, peers: &[PeerSummary<'_>]) -> Self {
        let ratio = |better, value: fn(&Figures) -> Option<f64>| {
            let (peer, best) = best(better, peers.iter().map(|peer| value(&peer.figures)))?;
            Some(Ratio { value: value(arm)? / best, peer })
        };
        Self {
            decode: ratio(Better::More, |figures| Some(figures.decode_tps)),
            prefill: ratio(Better::More, |figures| Some(figures.prefill_tps)),
            peak_rss: ratio(Better::Less, |figures| figures.peak_rss_bytes.map(|bytes| bytes as f64)),
            load: ratio(Better::Less, |figures| Some(figures.load_ms.median)),
            first_token: ratio(Better::Less, |figures| Some(figures.first_token_ms?.median)),
        }
    }
}

impl<T> Ratios<T> {
    pub(super) fn map<U>(self, change: impl Fn(T) -> U) -> Ratios<U> {
        let Self { decode, prefill, peak_rss, load, first_token } = self;
        Ratios {
            decode: change(decode),
            prefill: change(prefill),
            peak_rss: change(peak_rss),
            load: change(load),
            first_token: change(first_token),
        }
    }
}

/// The best of the values that are known, and its index; the first of equals.
fn best(better: Better, values: impl Iterator<Item = Option<f64>>) -> Option<(usize, f64)> {
    let known = values.enumerate().filter_map(|(index, value)| Some((index, value?)));
    known.reduce(|best, next| {
        let wins = if better == Better::More { next.1 > best.1 } else { next.1 < best.1 };
        if wins { next } else { best }
    })
}

#[cfg(test)]
mod tests {
    use super::super::arm::Arm;
    use super::super::example;
    use super::super::first_token::FirstToken;
    use super::super::peer::{Peer, Setting};
    use super::super::run::Run;
    use super::*;

    #[test]
    fn each_quantity_is_compared_with_the_better_peer() {
        let build = example::build("0.4.0");
        let (work, run) = (example::work(), example::run());
        let peer = |setting, run| PeerSummary::new(Peer { build: &build, setting }, &work, &[run]).expect("a run");
        let arm = example::arm(Arm::After, std::slice::from_ref(&run));
        // Half the time for a prompt, but twice the memory and four times the time to load.
        let repacked = Run {
            load_ms: 4.0 * run.load_ms,
            ttft_ms: 0.5 * run.ttft_ms,
            tpot_ms: 2.0 * run.tpot_ms,
            peak_rss_bytes: run.peak_rss_bytes.map(|bytes| 2 * bytes),
            first_token: Some(FirstToken::of(16.0)),
            ..run.clone()
        };
        let plain = Run { load_ms: 2.0 * run.load_ms, tpot_ms: 1.25 * run.tpot_ms, ..run.clone() };
        let peers = [peer(Setting::Repacked, repacked), peer(Setting::Plain, plain)];

        let ratio = |value, peer| Some(Ratio { value, peer });
        assert_eq!(
            Ratios::new(&arm.figures, &peers),
            Ratios {
                decode: ratio(1.25, 1),
                prefill: ratio(0.5, 0),
                peak_rss: ratio(1.0, 1),
                load: ratio(0.5, 1),
                first_token: ratio(1.0, 1)
            }
        );
    }

    #[test]
    fn what_is_not_known_has_no_ratio() {
        let build = example::build("0.4.0");
        let (work, run) = (example::work(), example::run());
        let arm = example::arm(Arm::After, std::slice::from_ref(&run));
        let none = Ratios { decode: None, prefill: None, peak_rss: None, load: None, first_token: None };
        assert_eq!(Ratios::new(&arm.figures, &[]), none);

        let unknown = Run { peak_rss_bytes: None, first_token: None, ..run };
        let peer = Peer { build: &build, setting: Setting::Plain };
        let peers = [PeerSummary::new(peer, &work, &[unknown]).expect("a run")];
        let ratios = Ratios::new(&arm.figures, &peers);
        assert_eq!(
            (ratios.peak_rss, ratios.first_token, ratios.load),
            (None, None, Some(Ratio { value: 1.0, peer: 0 }))
        );
    }

    #[test]
    fn the_first_of_equals_is_the_best() {
        assert_eq!(best(Better::More, [Some(1.0), None, Some(2.0), Some(2.0)].into_iter()), Some((2, 2.0)));
        assert_eq!(best(Better::Less, [Some(1.0), Some(2.0), Some(1.0)].into_iter()), Some((0, 1.0)));
        assert_eq!(best(Better::Less, [None].into_iter()), None);
    }
}
