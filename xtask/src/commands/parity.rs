//! `xtask parity`: regenerates every golden on every tier and thread count, and compares.
//!
//! `goldens/MD5SUMS` holds what the naive implementation computes, and for the encoders that are searches what ggml
//! answered; `--bless` writes it, and nothing else does. With
//! `--oracle DIR` the real ggml is asked again what `goldens/foreign/` holds of it, and about fresh rows as well. With
//! `--tinygemm-vectors DIR` what is compared with are vectors that others made.

mod oracle;
mod table;
mod vectors;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use keepq_goldens::foreign::Foreign;
use keepq_goldens::{Blessing, Case, Sums, cases};
use keepq_simd::Tier;

use crate::files;
use crate::foreign::ggml::Ggml;
use table::Table;

/// The arguments of `parity`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ask the real ggml, whose prebuilt libraries are in DIR, and compare with what is stored of it
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// Write goldens/MD5SUMS from the naive implementation, and with --oracle goldens/foreign from ggml
    #[arg(long)]
    bless: bool,
    /// Run the vectors of the 4-bit formats in DIR in place of the goldens
    #[arg(long, value_name = "DIR", conflicts_with_all = ["oracle", "bless"])]
    tinygemm_vectors: Option<PathBuf>,
    /// Print JSON, a line a case
    #[arg(long)]
    json: bool,
    /// The thread counts to run with
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4", value_parser = thread_count)]
    threads: Vec<usize>,
}

fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("not a number of threads".into()),
        Ok(threads) => Ok(threads),
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(folder) = &args.tinygemm_vectors {
        return vectors::run(folder, &args.threads, args.json);
    }
    let ggml = args.oracle.as_deref().map(Ggml::load).transpose()?;
    let cases = cases();
    let mut table = Table::new(args.json, &Tier::available(), cases.iter().map(Case::name));
    let mut answers = None;
    if let Some(ggml) = &ggml {
        oracle::compare_fresh_rows(ggml, &mut table)?;
        answers = Some(oracle::ask(ggml, &cases)?);
    }
    let sums = if args.bless {
        bless(&cases, answers.as_ref())?
    } else {
        if let Some(answers) = &answers {
            oracle::compare_with_stored(answers, &mut table)?;
        }
        Sums::stored()
    };
    compare(&cases, &sums, &args.threads, &mut table)?;
    table.finish(cases.len(), &args.threads)
}

/// Runs every case on every tier with every thread count.
fn compare(cases: &[Case], sums: &Sums, threads: &[usize], table: &mut Table) -> Result<()> {
    table.head()?;
    for case in cases {
        let Some(golden) = sums.get(case.name()) else {
            table.fail(case.name(), "no golden")?;
            continue;
        };
        let results: Vec<Vec<usize>> = Tier::available()
            .into_iter()
            .map(|tier| threads.iter().copied().filter(|&threads| case.run(tier, threads).md5() != golden).collect())
            .collect();
        table.row(case.name(), golden, &results)?;
    }
    for name in sums.names().filter(|name| cases.iter().all(|case| case.name() != *name)) {
        table.fail(name, "no runner")?;
    }
    Ok(())
}

/// Writes the naive implementation's MD5s, and ggml's answers where there are new ones.
fn bless(cases: &[Case], answers: Option<&Foreign>) -> Result<Sums> {
    let blessed: Vec<Blessing> = cases.iter().map(Case::bless).collect();
    let stored;
    let foreign = match answers {
        Some(answers) => answers,
        None => {
            stored = Foreign::stored();
            &stored
        }
    };
    let disagreements = foreign.disagreements(cases, &blessed);
    if !disagreements.is_empty() {
        for disagreement in &disagreements {
            eprintln!("{disagreement}");
        }
        bail!("nothing is blessed: {} disagreements with {}", disagreements.len(), foreign.produced_by);
    }
    let mut sums = Sums::default();
    for (case, blessing) in cases.iter().zip(&blessed) {
        ensure!(sums.get(case.name()).is_none(), "two cases are called {}", case.name());
        let golden = foreign.golden(case, blessing).with_context(|| format!("{}: nobody blesses it", case.name()))?;
        sums.push(case.name(), golden);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    if let Some(answers) = answers {
        for (name, text) in answers.files() {
            files::write(&root.join(Foreign::FOLDER).join(name), text.as_bytes())?;
        }
    }
    files::write(&root.join("goldens/MD5SUMS"), sums.to_string().as_bytes())?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_are_positive_numbers() {
        assert_eq!(thread_count("4"), Ok(4));
        for text in ["0", "", "-1", "two"] {
            assert!(thread_count(text).is_err(), "{text:?}");
        }
    }
}
