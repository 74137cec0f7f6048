//! [`Comparison`]: each arm's tokens against the oracle's; [`PeerDivergence`]: a peer's against an arm's.

use serde::Serialize;

use super::arm::Arm;
use super::summary::{ArmSummary, PeerSummary};

/// Where an arm first generates another token than the oracle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Divergence {
    /// Index into the generated tokens.
    pub(super) position: usize,
    /// How far the oracle's first logit was above its second there.
    pub(super) oracle_lead: f32,
}

/// Where a peer first generates another token than an arm. Builds of llama.cpp differ among themselves, so it is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct PeerDivergence {
    /// Index into the generated tokens.
    pub(super) position: usize,
    /// How far the peer's first logit was above its second there.
    pub(super) peer_lead: f32,
    /// How far the arm's was.
    pub(super) arm_lead: f32,
}

impl PeerDivergence {
    /// The first; none where all tokens are the same.
    pub(super) fn first(peer: &PeerSummary<'_>, arm: &ArmSummary) -> Option<Self> {
        let (peer, arm) = (&peer.figures, &arm.figures);
        let position = first_difference(&peer.ids, &arm.ids)?;
        Some(Self { position, peer_lead: peer.leads[position], arm_lead: arm.leads[position] })
    }
}

/// The arms against one of them.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The arm that the others are compared with: the oracle, or where it does not run before, which equals it. None where
    /// neither runs.
    pub(super) reference: Option<Arm>,
    /// Leads up to this excuse another token of the arm after; none where it is not known for the model.
    pub(super) excuse_threshold: Option<f32>,
    arms: Vec<(Arm, Option<Divergence>)>,
    /// Where the interleaved arm differs from the arm after, which computes the same.
    interleaved: Option<usize>,
}

impl Comparison {
    pub(super) fn new(summaries: &[ArmSummary], excuse_threshold: Option<f32>) -> Self {
        let find = |arm| summaries.iter().find(|summary| summary.arm == arm);
        let reference = find(Arm::Oracle).or_else(|| find(Arm::Before));
        let divergence = |summary: &ArmSummary| reference.and_then(|reference| first_divergence(summary, reference));
        let both = find(Arm::Interleaved).zip(find(Arm::After));
        Self {
            interleaved: both.and_then(|(a, b)| first_difference(&a.figures.ids, &b.figures.ids)),
            reference: reference.map(|reference| reference.arm),
            excuse_threshold,
            arms: summaries.iter().map(|summary| (summary.arm, divergence(summary))).collect(),
        }
    }

    /// Where this arm first differs.
    pub(super) fn first_divergence(&self, arm: Arm) -> Option<Divergence> {
        self.arms.iter().find(|(known, _)| *known == arm).and_then(|(_, divergence)| *divergence)
    }

    /// What must not be, a line each.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if let Some(position) = self.interleaved {
            failures.push(format!("arm interleaved differs from after at token {position}: the two must be equal"));
        }
        for &(arm, divergence) in &self.arms {
            let Some(Divergence { position, oracle_lead }) = divergence else { continue };
            let differs = format!("arm {arm} differs from the oracle at token {position}");
            match (arm, self.excuse_threshold) {
                (Arm::After | Arm::Interleaved, Some(threshold)) if oracle_lead > threshold => {
                    failures.push(format!("{differs}, where the oracle leads by {oracle_lead}, above {threshold}"));
                }
                // There is no oracle of a checkpoint: paths have weights of their own.
                (Arm::After | Arm::Interleaved | Arm::Path(_), _) => {}
                (Arm::Before | Arm::Oracle, _) => failures.push(format!("{differs}: the two must be equal")),
            }
        }
        failures
    }
}

fn first_divergence(summary: &ArmSummary, reference: &ArmSummary) -> Option<Divergence> {
    let position = first_difference(&summary.figures.ids, &reference.figures.ids)?;
    Some(Divergence { position, oracle_lead: reference.figures.leads[position] })
}

fn first_difference(ids: &[u32], wanted: &[u32]) -> Option<usize> {
    ids.iter().zip(wanted).position(|(id, wanted)| id != wanted)
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::super::peer::{Peer, Setting};
    use super::super::run::Run;
    use super::*;

    fn run(ids: [u32; 3]) -> Run {
        Run { ids: ids.into(), leads: vec![1.0, 0.5, 0.25], ..example::run() }
    }

    fn summary(arm: Arm, ids: [u32; 3]) -> ArmSummary {
        example::arm(arm, &[run(ids)])
    }

    #[test]
    fn interleaved_must_be_after() {
        let arms = [summary(Arm::Interleaved, [7, 8, 9]), summary(Arm::After, [7, 8, 9])];
        assert!(Comparison::new(&arms, None).failures().is_empty());
        let arms = [summary(Arm::Interleaved, [7, 6, 9]), summary(Arm::After, [7, 8, 9])];
        let failures = Comparison::new(&arms, None).failures();
        assert_eq!(failures, ["arm interleaved differs from after at token 1: the two must be equal"]);
    }

    #[test]
    fn before_must_be_the_oracle() {
        let arms = [summary(Arm::Before, [7, 8, 9]), summary(Arm::Oracle, [7, 8, 9])];
        assert!(Comparison::new(&arms, None).failures().is_empty());
        let arms = [summary(Arm::Before, [7, 8, 5]), summary(Arm::Oracle, [7, 8, 9])];
        let failures = Comparison::new(&arms, Some(9.0)).failures();
        assert_eq!(failures, ["arm before differs from the oracle at token 2: the two must be equal"]);
    }

    #[test]
    fn after_is_excused_by_a_small_lead() {
        let arms = [summary(Arm::After, [7, 6, 9]), summary(Arm::Oracle, [7, 8, 9])];
        let comparison = |threshold| Comparison::new(&arms, threshold);
        let divergence = Divergence { position: 1, oracle_lead: 0.5 };
        assert_eq!(comparison(None).first_divergence(Arm::After), Some(divergence));
        assert!(comparison(None).failures().is_empty());
        assert!(comparison(Some(0.5)).failures().is_empty());
        let wanted = "arm after differs from the oracle at token 1, where the oracle leads by 0.5, above 0.25";
        assert_eq!(comparison(Some(0.25)).failures(), [wanted]);
    }

    #[test]
    fn before_stands_in_for_the_oracle_and_after_alone_is_not_compared() {
        let arms = [summary(Arm::Before, [7, 8, 9]), summary(Arm::After, [7, 8, 5])];
        let comparison = Comparison::new(&arms, None);
        assert_eq!(comparison.reference, Some(Arm::Before));
        assert_eq!(comparison.first_divergence(Arm::After).map(|divergence| divergence.position), Some(2));
        assert_eq!(Comparison::new(&arms[1..], None).reference, None);
    }

    #[test]
    fn a_peer_is_told_where_it_differs_with_both_leads() {
        let (build, arm) = (example::build("0.4.0"), summary(Arm::After, [7, 8, 9]));
        let peer = |ids| {
            let run = Run { leads: vec![2.0, 0.125, 0.0], ..run(ids) };
            let peer = Peer { build: &build, setting: Setting::Plain };
            PeerSummary::new(peer, &example::work(), &[run]).expect("a run")
        };
        assert_eq!(PeerDivergence::first(&peer([7, 8, 9]), &arm), None);
        assert_eq!(
            PeerDivergence::first(&peer([7, 1, 2]), &arm),
            Some(PeerDivergence { position: 1, peer_lead: 0.125, arm_lead: 0.5 })
        );
    }
}
