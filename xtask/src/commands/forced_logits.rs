//! `xtask forced-logits`: one llama.cpp build's logits on one stored prompt (used by `excuse`).
//!
//! The libraries keep their state in globals, so two builds need two processes: `excuse` starts
//! this command once for each. The logits go to a file, what they say about the stored ids to
//! standard output as JSON.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use keepq_gguf::{Source, open_set};
use serde::{Deserialize, Serialize};

use crate::foreign::llama::{Context, ContextOptions, Cpu, Llama, Model, ModelOptions};
use crate::token_oracle::{Prompt, TokenOracle};

/// The arguments of `forced-logits`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set
    #[arg(long)]
    pub(crate) model: PathBuf,
    /// The folder of llama.cpp's libraries
    #[arg(long)]
    pub(crate) oracle: PathBuf,
    /// The CPU backend
    #[arg(long)]
    pub(crate) variant: Cpu,
    /// The token oracle
    #[arg(long)]
    pub(crate) tokens: PathBuf,
    /// Which of its prompts
    #[arg(long)]
    pub(crate) prompt: usize,
    /// Where to write the logits: for each batching `[positions, vocabulary]` as f32, little-endian
    #[arg(long)]
    pub(crate) out: PathBuf,
}

/// How the ids are handed to llama.cpp; the order of the blocks in the file of logits.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Batching {
    /// The prompt as one batch, then one greedy id at a time, as in generation.
    Stepped,
    /// The prompt and all greedy ids as one batch.
    Whole,
}

impl Batching {
    pub(crate) const ALL: [Self; 2] = [Self::Stepped, Self::Whole];
}

impl fmt::Display for Batching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stepped => "stepped",
            Self::Whole => "one batch",
        })
    }
}

/// What one build makes of one prompt.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Forced {
    /// llama.cpp's version.
    pub(crate) version: String,
    /// What the backend was compiled for.
    pub(crate) system_info: String,
    /// Positions with logits: all prompt ids and all greedy ids.
    pub(crate) positions: usize,
    /// Logits of a position.
    pub(crate) vocab_size: usize,
    /// The largest distance of one of this build's logits from the stored five of a step.
    pub(crate) stored_difference: f32,
    /// The lead of the stored first choice over the stored second, for each batching and step.
    pub(crate) leads: Vec<f32>,
    /// Steps at which this build chooses another id than the stored one.
    pub(crate) other_choices: Vec<OtherChoice>,
}

/// A step at which the highest logit is not that of the stored id.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct OtherChoice {
    pub(crate) batching: Batching,
    /// Index into `greedy_ids`.
    pub(crate) step: usize,
    pub(crate) stored: u32,
    pub(crate) chosen: u32,
    /// The text of `chosen`.
    pub(crate) text: String,
    /// The logit of `chosen` minus that of `stored`.
    pub(crate) lead: f32,
    /// The stored lead of `stored` over the second choice.
    pub(crate) stored_lead: f32,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let oracle = TokenOracle::read(&args.tokens)?;
    let Some(prompt) = oracle.prompts.get(args.prompt) else {
        bail!("{} has no prompt {}", args.tokens.display(), args.prompt);
    };
    let set = open_set(&args.model, Source::map)?;
    let llama = Llama::load(&args.oracle, &args.variant)?;
    // Of a set, llama.cpp wants the first file, and finds the others itself.
    let model = llama.model(set.sources()[0].path(), &ModelOptions { mmap: true, repack: false })?;
    check_ids(&model, prompt)?;

    let ids: Vec<u32> = prompt.prompt_ids.iter().chain(&prompt.greedy_ids).copied().collect();
    let positions = u32::try_from(ids.len())?;
    let mut context = model.context(&ContextOptions { n_ctx: positions, n_batch: positions, n_threads: 1 })?;
    let describe = || args.out.display().to_string();
    let mut sink = Sink {
        file: BufWriter::new(File::create(&args.out).with_context(describe)?),
        model: &model,
        prompt,
        forced: Forced {
            version: llama.version(),
            system_info: llama.system_info(),
            positions: ids.len(),
            vocab_size: model.vocab_size(),
            stored_difference: 0.0,
            leads: Vec::new(),
            other_choices: Vec::new(),
        },
    };

    let (prompt_ids, greedy_ids) = (&prompt.prompt_ids, &prompt.greedy_ids);
    sink.decode(&mut context, Batching::Stepped, 0, prompt_ids)?;
    for (step, id) in greedy_ids.iter().enumerate() {
        sink.decode(&mut context, Batching::Stepped, prompt_ids.len() + step, &[*id])?;
    }
    context.clear();
    sink.decode(&mut context, Batching::Whole, 0, &ids)?;

    sink.file.flush().with_context(describe)?;
    println!("{}", serde_json::to_string(&sink.forced)?);
    Ok(())
}

/// Runs this command in a process of its own.
pub(crate) fn run_apart(args: &Args) -> Result<Forced> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let Output { status, stdout, stderr } = Command::new(program)
        .arg("forced-logits")
        .arg("--model")
        .arg(&args.model)
        .arg("--oracle")
        .arg(&args.oracle)
        .arg("--variant")
        .arg(args.variant.to_string())
        .arg("--tokens")
        .arg(&args.tokens)
        .arg("--prompt")
        .arg(args.prompt.to_string())
        .arg("--out")
        .arg(&args.out)
        .stdin(Stdio::null())
        .output()
        .context("cannot start a process of this program")?;
    if !status.success() {
        // Its own error is one line; a failed assertion of llama.cpp's is followed by a trace.
        let stderr = String::from_utf8_lossy(&stderr);
        let line = stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message");
        match line.strip_prefix("error: ") {
            Some(error) => bail!("{error}"),
            None => bail!("the process ended with {status}: {line}"),
        }
    }
    serde_json::from_slice(&stdout).context("cannot read the process's answer")
}

/// Checks that the stored ids belong to this model's tokenizer.
fn check_ids(model: &Model<'_>, prompt: &Prompt) -> Result<()> {
    let ids = model.tokenize(&prompt.prompt, true, true)?;
    ensure!(
        ids == prompt.prompt_ids,
        "the stored ids of {:?} are not the model's: {:?} against {ids:?}",
        prompt.prompt,
        prompt.prompt_ids
    );
    let continued = prompt.greedy_ids.len() - 1;
    for &id in &prompt.greedy_ids[..continued] {
        ensure!(!model.is_eog(id)?, "the greedy ids of {:?} go on after {id}", prompt.prompt);
    }
    Ok(())
}

/// Where the logits of one prompt go.
struct Sink<'a> {
    file: BufWriter<File>,
    model: &'a Model<'a>,
    prompt: &'a Prompt,
    forced: Forced,
}

impl Sink<'_> {
    /// Decodes `ids`, the first of which is at position `start`, and takes up all their logits.
    fn decode(&mut self, context: &mut Context<'_>, batching: Batching, start: usize, ids: &[u32]) -> Result<()> {
        context.decode(ids, 0..ids.len())?;
        for index in 0..ids.len() {
            let logits = context.logits(index)?;
            let row: Vec<u8> = logits.iter().flat_map(|logit| logit.to_le_bytes()).collect();
            self.file.write_all(&row).context("cannot write the logits")?;
            // The logits of the prompt's last id choose the first greedy id.
            if let Some(step) = (start + index + 1).checked_sub(self.prompt.prompt_ids.len())
                && step < self.prompt.greedy_ids.len()
            {
                self.compare(batching, step, logits)?;
            }
        }
        Ok(())
    }

    /// Compares the logits of a step with the stored ones.
    fn compare(&mut self, batching: Batching, step: usize, logits: &[f32]) -> Result<()> {
        let top = &self.prompt.top5[step];
        for &(id, stored) in top {
            let logit = logits.get(id as usize).context("a stored id is outside the vocabulary")?;
            self.forced.stored_difference = self.forced.stored_difference.max((logit - stored).abs());
        }
        self.forced.leads.push(logits[top[0].0 as usize] - logits[top[1].0 as usize]);
        let stored = self.prompt.greedy_ids[step];
        let chosen = first_choice(logits);
        if chosen != stored {
            self.forced.other_choices.push(OtherChoice {
                batching,
                step,
                stored,
                chosen,
                text: String::from_utf8_lossy(&self.model.piece(chosen)?).into_owned(),
                lead: logits[chosen as usize] - logits[stored as usize],
                stored_lead: top[0].1 - top[1].1,
            });
        }
        Ok(())
    }
}

/// The id with the highest logit, the first of equals.
fn first_choice(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (id, &logit) in (0_u32..).zip(logits) {
        if logit > logits[best as usize] {
            best = id;
        }
    }
    best
}

/// Reads the next row of a file of logits into `row`.
pub(crate) fn read_row(file: &mut impl std::io::Read, row: &mut [f32]) -> std::io::Result<()> {
    let mut bytes = vec![0; size_of_val(row)];
    file.read_exact(&mut bytes)?;
    for (logit, bytes) in row.iter_mut().zip(bytes.as_chunks().0) {
        *logit = f32::from_le_bytes(*bytes);
    }
    Ok(())
}

/// Opens a file of logits.
pub(crate) fn open(path: &Path) -> Result<std::io::BufReader<File>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(std::io::BufReader::new(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_equals_is_chosen() {
        assert_eq!(first_choice(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(first_choice(&[-1.0]), 0);
    }

    #[test]
    fn rows_are_little_endian() {
        let mut row = [0.0; 2];
        read_row(&mut [0, 0, 128, 63, 0, 0, 0, 192].as_slice(), &mut row).expect("eight bytes");
        assert_eq!(row, [1.0, -2.0]);
        assert!(read_row(&mut [0; 7].as_slice(), &mut row).is_err());
    }
}
