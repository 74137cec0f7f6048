//! The result of `excuse`, for people and as JSON.

use std::fmt;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::columns::start_of;
use crate::commands::forced_logits::{Forced, OtherChoice};
use crate::token_oracle::TwoBuilds;

/// The result.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(super) model: String,
    pub(super) sha256: String,
    #[serde(flatten)]
    pub(crate) two_builds: TwoBuilds,
    /// Steps over all prompts.
    pub(super) steps: usize,
    /// Steps whose stored lead is above the threshold: those where another choice is an error.
    pub(super) steps_above_threshold: usize,
    pub(super) builds: [Build; 2],
    pub(super) prompts: Vec<PromptReport>,
}

/// One build, over all prompts.
#[derive(Debug, Serialize)]
pub(super) struct Build {
    variant: String,
    version: String,
    system_info: String,
    /// The largest distance from a stored logit.
    stored_difference: f32,
    /// Steps at which it does not choose the stored id, with the index of their prompt.
    other_choices: Vec<(usize, OtherChoice)>,
}

/// The largest differences on one prompt.
#[derive(Debug, Serialize)]
pub(super) struct PromptReport {
    pub(super) prompt: String,
    pub(super) positions: usize,
    pub(super) stepped: Difference,
    pub(super) whole: Difference,
}

/// The largest difference of a logit, and where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Difference {
    pub(super) difference: f32,
    pub(super) position: usize,
    pub(super) id: usize,
}

impl Report {
    /// Refuses what cannot come from the stored model: a choice that the threshold does not excuse.
    pub(crate) fn check(&self) -> Result<()> {
        let threshold = self.two_builds.excuse_threshold;
        for build in &self.builds {
            for (prompt, choice) in &build.other_choices {
                ensure!(
                    choice.stored_lead <= threshold,
                    "prompt {prompt}, step {}: {} chooses {}, but the stored {} leads by {}, above {threshold}",
                    choice.step,
                    build.variant,
                    choice.chosen,
                    choice.stored,
                    choice.stored_lead
                );
            }
        }
        Ok(())
    }
}

impl Build {
    pub(super) fn new(variant: &str) -> Self {
        Self {
            variant: variant.to_owned(),
            version: String::new(),
            system_info: String::new(),
            stored_difference: 0.0,
            other_choices: Vec::new(),
        }
    }

    /// Takes up what the build makes of one prompt.
    pub(super) fn add(&mut self, prompt: usize, forced: Forced) {
        self.version = forced.version;
        self.system_info = forced.system_info;
        self.stored_difference = self.stored_difference.max(forced.stored_difference);
        self.other_choices.extend(forced.other_choices.into_iter().map(|choice| (prompt, choice)));
    }
}

impl Difference {
    /// Takes up the logits of one position.
    pub(super) fn take(&mut self, position: usize, a: &[f32], b: &[f32]) -> Result<()> {
        for (id, (a, b)) in a.iter().zip(b).enumerate() {
            let difference = (a - b).abs();
            ensure!(difference.is_finite(), "the logits of id {id} at position {position} are {a} and {b}");
            if difference > self.difference {
                *self = Self { difference, position, id };
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TwoBuilds { max_logit_difference, excuse_threshold, .. } = &self.two_builds;
        writeln!(f, "{} (SHA-256 {})\n", self.model, self.sha256)?;
        writeln!(f, "{:>9} {:>9} {:>9}  prompt", "positions", "stepped", "one batch")?;
        for prompt in &self.prompts {
            let PromptReport { prompt, positions, stepped, whole } = prompt;
            let (stepped, whole) = (stepped.difference, whole.difference);
            writeln!(f, "{positions:>9} {stepped:>9.6} {whole:>9.6}  {}", start_of(prompt))?;
        }
        for build in &self.builds {
            writeln!(f, "\n{build}")?;
        }
        writeln!(f, "\nlargest logit difference        {max_logit_difference:.6}")?;
        writeln!(f, "excuse threshold                {excuse_threshold:.6}")?;
        writeln!(f, "stored leads above it           {} of {}", self.steps_above_threshold, self.steps)?;
        writeln!(f, "largest change of a stored lead {:.6}", self.two_builds.max_lead_difference)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variant, version, system_info, stored_difference, other_choices } = self;
        write!(f, "{variant}: llama.cpp {version}, {system_info}")?;
        write!(f, "\n  stored logits within {stored_difference:.6}, other choices: {}", other_choices.len())?;
        for (prompt, choice) in other_choices {
            let OtherChoice { batching, step, stored, chosen, text, lead, stored_lead } = choice;
            write!(
                f,
                "\n  prompt {prompt}, step {step}, {batching}: {chosen} {text:?} leads the stored {stored} \
                 by {lead:.4}, which led by {stored_lead:.4}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::forced_logits::Batching;

    #[test]
    fn the_largest_difference_is_kept_with_its_place() {
        let mut largest = Difference::default();
        largest.take(0, &[1.0, 2.0], &[1.5, 2.0]).expect("finite");
        largest.take(1, &[1.0, 2.0], &[1.0, 1.0]).expect("finite");
        largest.take(2, &[1.0, 2.0], &[2.0, 2.0]).expect("finite");
        assert_eq!(largest, Difference { difference: 1.0, position: 1, id: 1 });
    }

    #[test]
    fn logits_that_are_not_finite_are_an_error() {
        let error = Difference::default().take(4, &[1.0, f32::NAN], &[1.0, 2.0]);
        assert_eq!(error.expect_err("not a number").to_string(), "the logits of id 1 at position 4 are NaN and 2");
    }

    /// A report with one other choice, whose stored lead is given.
    fn report(stored_lead: f32) -> Report {
        let mut builds = ["x64", "haswell"].map(Build::new);
        builds[1].add(
            0,
            Forced {
                version: "1.0".to_owned(),
                system_info: "CPU : AVX2 = 1 |".to_owned(),
                positions: 3,
                vocab_size: 10,
                stored_difference: 0.375,
                leads: vec![stored_lead],
                other_choices: vec![OtherChoice {
                    batching: Batching::Whole,
                    step: 0,
                    stored: 4,
                    chosen: 5,
                    text: " the".to_owned(),
                    lead: 0.125,
                    stored_lead,
                }],
            },
        );
        Report {
            model: "small".to_owned(),
            sha256: "00ff".to_owned(),
            two_builds: TwoBuilds {
                variants: ["x64", "haswell"].map(str::to_owned),
                max_logit_difference: 0.25,
                excuse_threshold: 0.5,
                max_lead_difference: 0.25,
            },
            steps: 1,
            steps_above_threshold: usize::from(stored_lead > 0.5),
            builds,
            prompts: vec![PromptReport {
                prompt: "a\nb".to_owned(),
                positions: 3,
                stepped: Difference { difference: 0.125, position: 2, id: 9 },
                whole: Difference { difference: 0.25, position: 1, id: 8 },
            }],
        }
    }

    #[test]
    fn a_choice_that_the_threshold_does_not_excuse_is_refused() {
        assert!(report(0.5).check().is_ok());
        assert_eq!(
            report(0.75).check().expect_err("a lead above the threshold").to_string(),
            "prompt 0, step 0: haswell chooses 5, but the stored 4 leads by 0.75, above 0.5"
        );
    }

    #[test]
    fn the_table_is_readable() {
        insta::assert_snapshot!(report(0.25));
    }
}
