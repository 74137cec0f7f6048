//! `xtask generate`: continues a prompt.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use keepq_decoder::tokenizer::{DecodeStream, Special, Tokenizer};
use keepq_decoder::{Sampler, Session, generate};
use keepq_gemm::Residency;
use keepq_tinygemm::select::Policy;
use serde::Serialize;

use crate::model_files::{self, Held, ModelFiles};
use crate::{files, runtime};

/// The arguments of `generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The GGUF file, or any file of a set, or the folder of a checkpoint
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The text to continue; marks of the model such as <|im_start|> are understood
    #[arg(long, value_name = "TEXT")]
    prompt: String,
    /// How many tokens to generate at most
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true)]
    tokens: usize,
    /// 0 always takes the likeliest token; the larger, the freer the choice
    #[arg(long, value_name = "T", default_value_t = 0.0, value_parser = temperature, allow_negative_numbers = true)]
    temperature: f32,
    /// Choose among the K likeliest tokens; 0: among all
    #[arg(long, value_name = "K", default_value_t = 0)]
    top_k: usize,
    /// Choose among the likeliest tokens that together have probability P
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = probability)]
    top_p: f32,
    /// The same seed makes the same choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Refuse a model with a type that has no kernel, instead of expanding its tensors
    #[arg(long)]
    strict: bool,
    /// Copy the weights to rows interleaved by eight, which are multiplied faster
    #[arg(long, conflicts_with = "strict")]
    interleave: bool,
    /// The 4-bit path of a checkpoint: w4a16, w4a8, int4, fallback, auto (for speed), fidelity or upstream [default: auto where weights are quantized]
    #[arg(long, value_name = "PATH", value_parser = model_files::policy)]
    path: Option<Policy>,
    /// Read the file into memory instead of mapping it: for storage that others write to
    #[arg(long)]
    no_mmap: bool,
    /// Print JSON when all tokens are there, instead of text as it comes
    #[arg(long)]
    json: bool,
    /// Threads [default: KEEPQ_THREADS, or as many as the machine has]
    #[arg(long, value_name = "N", value_parser = runtime::thread_count)]
    threads: Option<usize>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    prompt_ids: Vec<u32>,
    /// The ids generated, the last of which may end the generation.
    ids: Vec<u32>,
    /// Their text, without marks of the model.
    text: String,
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(number) if (0.0..f32::INFINITY).contains(&number) => Ok(number),
        _ => Err("not a number from 0 up".into()),
    }
}

fn probability(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => Err("not a number above 0 and up to 1".into()),
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = runtime::settings(args.threads)?;
    let files = ModelFiles::open(&args.model, args.no_mmap)?;
    let contents = files.parse()?;
    let file = || args.model.display().to_string();
    let tokenizer = contents.tokenizer().with_context(file)?;
    let residency = match settings.residency() {
        Residency::Keep if args.strict => Residency::Strict,
        Residency::Keep if args.interleave => Residency::Interleave,
        residency => residency,
    };
    let held = Held { residency, policy: args.path };
    let (model, selection) = contents.load(held).with_context(file)?;

    ensure!(
        tokenizer.token_count() == model.vocabulary(),
        "{}: {} tokens have names, the embedding {} rows",
        args.model.display(),
        tokenizer.token_count(),
        model.vocabulary()
    );

    let prompt_ids = tokenizer.encode(&args.prompt, Special::Parse).with_context(file)?;
    ensure!(!prompt_ids.is_empty(), "the prompt {:?} has no tokens", args.prompt);
    let context = model.config().context;
    let needed = prompt_ids.len().saturating_add(args.tokens);
    ensure!(
        needed <= context,
        "{} tokens of prompt and {} to generate are more than the model's context of {context}",
        prompt_ids.len(),
        args.tokens
    );
    eprintln!("{}", runtime::describe(&settings, model.report()));
    if let Some(selection) = selection {
        eprintln!("path {selection}");
    }

    let mut session = Session::new(&model, settings.driver(), needed)?;
    let mut sampler = Sampler::seeded(args.temperature, args.top_k, args.top_p, args.seed);
    let mut text = Text::new(&tokenizer, !args.json);
    let ids = generate(&mut session, &mut sampler, &prompt_ids, args.tokens, |id| text.push(id)).with_context(file)?;
    let text = text.finish()?;
    if args.json {
        files::print(&(serde_json::to_string(&Answer { prompt_ids, ids, text })? + "\n"))
    } else {
        files::print("\n")
    }
}

/// The text so far; printed as it comes where that is asked for.
struct Text<'t, 'a> {
    tokenizer: &'t Tokenizer<'a>,
    stream: DecodeStream<'t, 'a>,
    shown: bool,
    text: String,
    error: Option<anyhow::Error>,
}

impl<'t, 'a> Text<'t, 'a> {
    fn new(tokenizer: &'t Tokenizer<'a>, shown: bool) -> Self {
        Self { tokenizer, stream: tokenizer.decode_stream(), shown, text: String::new(), error: None }
    }

    /// Takes a token, and says whether another one is wanted.
    fn push(&mut self, id: u32) -> bool {
        if self.tokenizer.is_end_of_generation(id) {
            return false;
        }
        // Marks of the model are no text; a character that is not complete yet waits for the next token.
        if !self.tokenizer.is_control(id)
            && let Err(error) = self.add(id)
        {
            self.error = Some(error);
        }
        self.error.is_none()
    }

    fn add(&mut self, id: u32) -> Result<()> {
        let characters = self.stream.push(id)?;
        self.text += characters;
        if self.shown { files::print(characters) } else { Ok(()) }
    }

    fn finish(mut self) -> Result<String> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let rest = self.stream.finish();
        self.text += &rest;
        if self.shown {
            files::print(&rest)?;
        }
        Ok(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(temperature("0.7"), Ok(0.7));
        assert_eq!(probability("1"), Ok(1.0));
        for wrong in ["-0.1", "nan", "inf", "warm"] {
            assert!(temperature(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "1.01", "nan"] {
            assert!(probability(wrong).is_err(), "{wrong}");
        }
    }
}
