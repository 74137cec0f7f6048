//! The result of `tokens`, for people and as JSON.

use std::fmt;

use anyhow::{Result, bail};
use serde::Serialize;

use super::proof::PromptProof;
use crate::columns::{Align, aligned, start_of};
use crate::token_oracle::TwoBuilds;

/// The result.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(super) model: String,
    pub(super) sha256: String,
    /// None where it has not been measured: nothing is excused then.
    pub(super) two_builds: Option<TwoBuilds>,
    /// Tiers and numbers of threads.
    pub(super) runs: Vec<String>,
    pub(super) prompts: Vec<PromptProof>,
}

impl Report {
    /// Everything that is not as it must be, a line each.
    fn failures(&self) -> Vec<String> {
        let excused = |lead| self.two_builds.as_ref().is_some_and(|builds| lead <= builds.max_lead_difference);
        let mut failures = Vec::new();
        for (index, prompt) in self.prompts.iter().enumerate() {
            if !prompt.prompt_ids_equal {
                failures.push(format!("prompt {index}: the tokenizer's ids are not llama.cpp's"));
            }
            for other in prompt.other_choices.iter().filter(|other| !excused(other.stored_lead)) {
                failures.push(format!(
                    "prompt {index}, step {}: {} is chosen, but llama.cpp's {} leads by {}",
                    other.step, other.chosen, other.stored, other.stored_lead
                ));
            }
            if let Some(lead) = prompt.free_running_lead.filter(|&lead| !excused(lead)) {
                let step = prompt.free_running_equal;
                failures.push(format!("prompt {index}: free-running ids differ from step {step} on, a lead of {lead}"));
            }
            if let Some(builds) = &self.two_builds
                && prompt.stored_difference > builds.max_logit_difference
            {
                let (here, there) = (prompt.stored_difference, builds.max_logit_difference);
                failures.push(format!(
                    "prompt {index}: a logit is {here} from llama.cpp's, whose own builds are {there} apart"
                ));
            }
            if !prompt.other_bits.is_empty() {
                failures.push(format!("prompt {index}: other bits with {}", prompt.other_bits.join(", ")));
            }
        }
        failures
    }

    /// An error where there is a failure.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.failures()[..] {
            [] => Ok(()),
            [one] => bail!("{one}"),
            [first, others @ ..] => bail!("{first} (and {} more)", others.len()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, sha256, two_builds, runs, prompts } = self;
        writeln!(f, "{model} (SHA-256 {sha256})")?;
        match two_builds {
            Some(TwoBuilds { max_logit_difference, max_lead_difference, .. }) => writeln!(
                f,
                "two builds of llama.cpp differ by up to {max_logit_difference} in a logit, {max_lead_difference} in a lead: \
                 leads up to that excuse another choice\n"
            )?,
            None => writeln!(f, "llama.cpp's builds have not been compared: every choice must be its\n")?,
        }
        let head = ["prompt ids", "forced", "excused", "free-running", "difference", "bits", "prompt"];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(prompts.iter().map(|prompt| {
            let (steps, others) = (prompt.steps, prompt.other_choices.len());
            [
                format!("{} {}", prompt.prompt_ids, if prompt.prompt_ids_equal { "equal" } else { "WRONG" }),
                format!("{}/{steps}", steps - others),
                others.to_string(),
                format!("{}/{steps}", prompt.free_running_equal),
                format!("{:.4}", prompt.stored_difference),
                format!("{}/{}", runs.len() - prompt.other_bits.len(), runs.len()),
                start_of(&prompt.prompt),
            ]
        }));
        let mut columns = [Align::Right; 7];
        columns[6] = Align::Left;
        f.write_str(&aligned(columns, &rows))?;
        let largest = prompts.iter().map(|prompt| prompt.stored_difference).fold(0.0, f32::max);
        writeln!(f, "\nlargest difference from a stored logit {largest:.4}")?;
        self.failures().iter().try_for_each(|failure| writeln!(f, "FAILED {failure}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::proof::OtherChoice;
    use super::*;

    /// A prompt of two steps, at the second of which llama.cpp chose another id with a lead of 0.25.
    fn report(max_lead_difference: Option<f32>) -> Report {
        let prompt = PromptProof {
            prompt: "1 + 1 =".into(),
            prompt_ids: 5,
            prompt_ids_equal: true,
            steps: 2,
            other_choices: vec![OtherChoice { step: 1, stored: 7, chosen: 9, stored_lead: 0.25 }],
            free_running_equal: 1,
            free_running_lead: Some(0.25),
            stored_difference: 0.125,
            logits_md5: "00ff".into(),
            other_bits: Vec::new(),
        };
        let runs = ["portable/1", "portable/2"].map(str::to_owned).into();
        let two_builds = max_lead_difference.map(|max_lead_difference| TwoBuilds {
            variants: ["x64", "haswell"].map(str::to_owned),
            max_logit_difference: 0.5,
            excuse_threshold: 1.0,
            max_lead_difference,
        });
        Report { model: "small".into(), sha256: "00ff".into(), two_builds, runs, prompts: vec![prompt] }
    }

    fn failure(report: &Report) -> String {
        report.check().expect_err("a failure").to_string()
    }

    #[test]
    fn only_a_small_lead_excuses_another_choice() {
        report(Some(0.25)).check().expect("excused");
        let wanted = "prompt 0, step 1: 9 is chosen, but llama.cpp's 7 leads by 0.25 (and 1 more)";
        assert_eq!(failure(&report(Some(0.24))), wanted);
        assert_eq!(failure(&report(None)), wanted);
    }

    #[test]
    fn other_ids_and_other_bits_are_never_excused() {
        let mut report = report(Some(1.0));
        report.prompts[0].other_bits = vec!["portable/2".into()];
        assert_eq!(failure(&report), "prompt 0: other bits with portable/2");
        report.prompts[0].prompt_ids_equal = false;
        assert_eq!(failure(&report), "prompt 0: the tokenizer's ids are not llama.cpp's (and 1 more)");
    }

    #[test]
    fn the_table_is_readable() {
        insta::assert_snapshot!(report(Some(0.25)).to_string());
    }
}
