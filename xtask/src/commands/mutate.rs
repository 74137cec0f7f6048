//! `xtask mutate`: changes constants and indices one at a time, and demands that tests fail.
//!
//! Tools that mutate any program change operators and whole functions. What breaks arithmetic on quantized blocks is a
//! bias that is off by one, a mask that lacks a bit, an index into the wrong scale: those are listed by hand, in
//! `mutate/mutants/`, each with the tests that ought to notice. They are applied to a copy of the workspace.

mod copy;
mod mutant;
mod report;
mod trial;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use crate::files;
use copy::WorkspaceCopy;
use mutant::{Mutant, mutants};
use report::{Report, list};
use trial::Bench;

/// The arguments of `mutate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the mutants, and test none
    #[arg(long)]
    list: bool,
    /// Check that every mutant still applies to the sources, and test none
    #[arg(long, conflicts_with = "list")]
    check: bool,
    /// Only mutants whose name matches
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// Only one of N parts of them, counted from 0
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Build in DIR and leave it for the next run, instead of in a temporary folder
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,
    /// Print JSON, a line a mutant
    #[arg(long)]
    json: bool,
}

/// One of several parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    index: usize,
    count: usize,
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err("not a part like 0/4, the last being 3/4"),
        }
    }
}

impl Shard {
    /// The part's own: neighbours stay together, since what one has built serves the next.
    fn of<T>(self, mut all: Vec<T>) -> Vec<T> {
        let edge = |index| all.len() * index / self.count;
        let (start, end) = (edge(self.index), edge(self.index + 1));
        all.drain(start..end).collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    let mut selected = mutants()?;
    if let Some(only) = &args.only {
        selected.retain(|mutant| only.is_match(&mutant.name));
    }
    if let Some(shard) = args.shard {
        selected = shard.of(selected);
    }
    ensure!(!selected.is_empty(), "no mutant is selected");
    if args.list {
        return files::print(&list(&selected, args.json)?);
    }
    if args.check {
        return check(root, &selected);
    }
    test(root, args, &selected)
}

/// Says of every mutant that does not apply why.
fn check(root: &Path, mutants: &[Mutant]) -> Result<()> {
    let errors: Vec<_> = mutants.iter().filter_map(|mutant| mutant.apply(root).err()).collect();
    for error in &errors {
        files::print(&format!("{error:#}\n"))?;
    }
    ensure!(errors.is_empty(), "{} of {} mutants do not apply", errors.len(), mutants.len());
    files::print(&format!("{} mutants apply\n", mutants.len()))
}

fn test(root: &Path, args: &Args, mutants: &[Mutant]) -> Result<()> {
    // Nothing is built for a table that does not fit the sources.
    mutants.iter().try_for_each(|mutant| mutant.apply(root).map(drop))?;
    let copy = WorkspaceCopy::new(root, args.target_dir.as_deref())?;
    let mut report = Report::new(args.json, mutants);
    let mut bench = Bench::new(&copy);
    report.note("building and running the tests, unchanged")?;
    for mutant in mutants {
        bench.pass_unchanged(&mutant.tests)?;
    }
    for mutant in mutants {
        let change = mutant.apply(copy.root())?;
        report.begin(mutant);
        change.write()?;
        let trial = bench.try_mutant(&mutant.tests);
        change.undo()?;
        report.row(mutant, &trial?)?;
    }
    report.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_it() {
        let all: Vec<usize> = (0..10).collect();
        let parts = (0..4).flat_map(|index| Shard { index, count: 4 }.of(all.clone()));
        assert_eq!(parts.collect::<Vec<_>>(), all);
        assert_eq!("1/4".parse(), Ok(Shard { index: 1, count: 4 }));
        for wrong in ["", "4/4", "1", "1/0", "-1/4", "a/b"] {
            assert!(Shard::from_str(wrong).is_err(), "{wrong}");
        }
    }
}
