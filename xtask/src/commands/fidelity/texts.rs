//! [`Texts`]: what models read and continue, as tokens.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use keepq_decoder::tokenizer::{Special, Tokenizer};

use crate::commands::quantize::checkpoint::Calibration;
use crate::model_files::Contents;

/// H. G. Wells, The Time Machine; `xtask/data/fidelity/README.md` tells where it is from.
const TEXT: &str = include_str!("../../../data/fidelity/text.txt");

/// A prompt a line.
const PROMPTS: &str = include_str!("../../../data/fidelity/prompts.txt");

/// A text and prompts, as a model's vocabulary has them.
pub(super) struct Texts {
    /// What the vocabulary puts before any text; each window begins with it.
    pub(super) start: Vec<u32>,
    /// Of the text, without that.
    pub(super) ids: Vec<u32>,
    pub(super) prompts: Vec<Vec<u32>>,
}

impl Texts {
    /// The stored text or the one at `path`, its first `most` tokens, and the stored prompts.
    pub(super) fn read(tokenizer: &Tokenizer<'_>, path: Option<&Path>, most: Option<usize>) -> Result<Self> {
        let mut ids = match path {
            None => tokenizer.encode(TEXT, Special::Plain)?,
            Some(path) => {
                let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
                tokenizer.encode(&text, Special::Plain)?
            }
        };
        let mut start = tokenizer.encode("", Special::Plain)?;
        if ids.starts_with(&start) {
            ids.drain(..start.len());
        } else {
            start.clear();
        }
        ids.truncate(most.unwrap_or(usize::MAX));
        ensure!(ids.len() >= 2, "the text has {} tokens: a prediction needs two", ids.len());
        let prompts = PROMPTS.lines().map(|prompt| tokenizer.encode(prompt, Special::Plain));
        Ok(Self { start, ids, prompts: prompts.collect::<Result<_, _>>()? })
    }
}

/// What weights are multiplied by on the calibration text, all of it.
pub(super) fn calibration(contents: &Contents<'_>, threads: usize) -> Result<Calibration> {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/fidelity/calibration.txt");
    Calibration::on(contents, &text, usize::MAX, threads)
}

/// The last part of a path, for a report.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALIBRATION: &str = include_str!("../../../data/fidelity/calibration.txt");

    #[test]
    fn there_are_twelve_prompts_and_two_texts_apart() {
        assert_eq!(PROMPTS.lines().filter(|prompt| !prompt.is_empty()).count(), 12);
        assert!(TEXT.is_ascii() && CALIBRATION.is_ascii());
        let paragraphs =
            |text: &'static str| text.split("\n\n").map(str::trim).collect::<std::collections::HashSet<_>>();
        let (text, calibration) = (paragraphs(TEXT), paragraphs(CALIBRATION));
        assert!(text.len() > 100 && calibration.len() > 20, "{} {}", text.len(), calibration.len());
        assert!(text.is_disjoint(&calibration));
        for prompt in PROMPTS.lines() {
            assert!(!TEXT.contains(prompt) && !CALIBRATION.contains(prompt), "{prompt}");
        }
    }
}
