//! Token oracles: what llama.cpp made of a model and some prompts, `goldens/tokens/*.json`.
//!
//! A file belongs to one model file. For each prompt it holds the ids of the prompt, the ids that
//! greedy decoding appends to them, and the highest logits of every step; beside them, how far two of
//! llama.cpp's own builds are apart on these ids. Another decoder's first choice must be the stored one
//! wherever the stored lead is above that.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::files;

/// Logits are stored with four decimals: a lead of two of them is off by this much at most.
const LEAD_ROUNDING: f32 = 1.5e-4;

/// What is known of one model file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenOracle {
    /// The model's name.
    pub(crate) model: String,
    /// SHA-256 of the model file in lowercase hexadecimal, where it has been recorded.
    pub(crate) sha256: Option<String>,
    /// The program that made the ids and logits, and how.
    pub(crate) produced_by: String,
    /// How far two builds of that program are apart, where it has been measured.
    pub(crate) two_builds: Option<TwoBuilds>,
    /// The prompts, in a fixed order.
    pub(crate) prompts: Vec<Prompt>,
}

/// The difference between two of llama.cpp's own builds on the file's prompts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwoBuilds {
    /// The names of the two CPU backends.
    pub(crate) variants: [String; 2],
    /// The largest absolute difference of a logit, over all ids and positions of all prompts.
    pub(crate) max_logit_difference: f32,
    /// Twice that: what a lead can change by at most, if it changes where the logits change most.
    pub(crate) excuse_threshold: f32,
    /// The largest change of the lead of a stored first choice over the second: what a lead did change by. It is several
    /// times smaller, and it is what decides: a smaller lead excuses another choice in the token proof.
    pub(crate) max_lead_difference: f32,
}

/// One prompt and its greedy continuation.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompt {
    /// The text; markers of special tokens in it are those tokens.
    pub(crate) prompt: String,
    /// Its ids, with what the model file asks to be added.
    pub(crate) prompt_ids: Vec<u32>,
    /// The ids that greedy decoding appends; the last one may end the generation.
    pub(crate) greedy_ids: Vec<u32>,
    /// For each greedy id the five highest logits of that step, `[id, logit]`, highest first.
    pub(crate) top5: Vec<[(u32, f32); 5]>,
    /// The smallest lead of a first choice over the second.
    pub(crate) min_margin: f32,
}

impl TokenOracle {
    /// Reads and checks a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// The folder of the project's own files.
    pub(crate) fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("goldens").join("tokens")
    }

    /// Finds the file in `folder` that was made from the model file with this SHA-256.
    pub(crate) fn find(folder: &Path, sha256: &str) -> Result<(PathBuf, Self)> {
        Self::find_if_known(folder, sha256)?
            .with_context(|| format!("no file in {} is of a model with SHA-256 {sha256}", folder.display()))
    }

    /// As [`find`](Self::find), for models that need not be known.
    pub(crate) fn find_if_known(folder: &Path, sha256: &str) -> Result<Option<(PathBuf, Self)>> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let oracle = Self::read(&path)?;
                if oracle.sha256.as_deref() == Some(sha256) {
                    return Ok(Some((path, oracle)));
                }
            }
        }
        Ok(None)
    }

    /// Parses and checks the text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let oracle: Self = serde_json::from_str(text)?;
        ensure!(!oracle.prompts.is_empty(), "it has no prompts");
        for (index, prompt) in oracle.prompts.iter().enumerate() {
            prompt.check().with_context(|| format!("prompt {index}"))?;
        }
        Ok(oracle)
    }

    /// The text of a file: one line a field, one line a prompt.
    pub(crate) fn to_text(&self) -> Result<String> {
        let prompts: Vec<String> = self.prompts.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        Ok(format!(
            "{{\n\"model\":{},\n\"sha256\":{},\n\"produced_by\":{},\n\"two_builds\":{},\n\"prompts\":[\n{}\n]}}\n",
            serde_json::to_string(&self.model)?,
            serde_json::to_string(&self.sha256)?,
            serde_json::to_string(&self.produced_by)?,
            serde_json::to_string(&self.two_builds)?,
            prompts.join(",\n"),
        ))
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        files::write(path, self.to_text()?.as_bytes())
    }
}

impl Prompt {
    /// The lead of the first choice over the second, step by step.
    pub(crate) fn leads(&self) -> impl Iterator<Item = f32> {
        self.top5.iter().map(|top| top[0].1 - top[1].1)
    }

    /// Checks the parts against each other.
    fn check(&self) -> Result<()> {
        ensure!(!self.prompt_ids.is_empty(), "prompt_ids is empty");
        ensure!(!self.greedy_ids.is_empty(), "greedy_ids is empty");
        ensure!(
            self.top5.len() == self.greedy_ids.len(),
            "top5 has {} steps, greedy_ids {}",
            self.top5.len(),
            self.greedy_ids.len()
        );
        for (step, (top, &id)) in self.top5.iter().zip(&self.greedy_ids).enumerate() {
            ensure!(top[0].0 == id, "step {step}: the highest logit is of {}, the id {id}", top[0].0);
            ensure!(top.is_sorted_by(|a, b| a.1 >= b.1), "step {step}: top5 is not in order");
        }
        let margin = self.leads().fold(f32::INFINITY, f32::min);
        ensure!(
            (margin - self.min_margin).abs() <= LEAD_ROUNDING,
            "min_margin is {}, the smallest lead in top5 {margin}",
            self.min_margin
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one prompt with two steps.
    const SMALL: &str = r#"{
"model":"small",
"sha256":null,
"produced_by":"a program",
"two_builds":{"variants":["x64","haswell"],"max_logit_difference":0.125,"excuse_threshold":0.25,"max_lead_difference":0.125},
"prompts":[
{"prompt":"a b","prompt_ids":[1,2],"greedy_ids":[3,4],"top5":[[[3,2.5],[1,2.25],[2,1.0],[4,0.5],[5,-1.0]],[[4,9.0],[1,8.0],[2,7.0],[3,6.0],[5,5.5]]],"min_margin":0.25}
]}
"#;

    fn error_of(from: &str, to: &str) -> String {
        assert!(SMALL.contains(from), "{from} is not in the example");
        format!("{:#}", TokenOracle::parse(&SMALL.replacen(from, to, 1)).expect_err("a wrong file"))
    }

    #[test]
    fn text_survives_a_round_trip() {
        let oracle = TokenOracle::parse(SMALL).expect("the example parses");
        assert_eq!(oracle.to_text().expect("it can be written"), SMALL);
    }

    #[test]
    fn errors_name_the_prompt_and_the_disagreement() {
        assert_eq!(error_of("\"greedy_ids\":[3,4]", "\"greedy_ids\":[3]"), "prompt 0: top5 has 2 steps, greedy_ids 1");
        assert_eq!(
            error_of("\"greedy_ids\":[3,4]", "\"greedy_ids\":[3,5]"),
            "prompt 0: step 1: the highest logit is of 4, the id 5"
        );
        assert_eq!(error_of("[2,1.0]", "[2,2.375]"), "prompt 0: step 0: top5 is not in order");
        assert_eq!(
            error_of("\"min_margin\":0.25", "\"min_margin\":0.5"),
            "prompt 0: min_margin is 0.5, the smallest lead in top5 0.25"
        );
        assert_eq!(error_of("[1,2]", "[]"), "prompt 0: prompt_ids is empty");
        assert!(error_of("\"sha256\"", "\"sha265\"").starts_with("unknown field `sha265`"));
    }

    #[test]
    fn writing_replaces_the_file() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("small.json");
        fs::write(&path, "old").expect("a written file");
        TokenOracle::parse(SMALL).expect("it parses").write(&path).expect("it is written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), SMALL);
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1);
    }

    /// The committed files parse, are as [`TokenOracle::write`] writes them, and say 2x twice the same.
    #[test]
    fn committed_files_are_consistent() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("goldens").join("tokens");
        let mut count = 0;
        for entry in fs::read_dir(folder).expect("the folder exists") {
            let path = entry.expect("a folder entry").path();
            let oracle = TokenOracle::read(&path).expect("a consistent file");
            let text = fs::read_to_string(&path).expect("a readable file");
            assert_eq!(oracle.to_text().expect("it can be written"), text, "{}", path.display());
            assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(&*oracle.model));
            if let Some(two_builds) = &oracle.two_builds {
                assert_eq!(two_builds.excuse_threshold, 2.0 * two_builds.max_logit_difference);
            }
            count += 1;
        }
        assert!(count >= 2, "only {count} files");
    }
}
