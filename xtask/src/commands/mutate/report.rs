//! What `mutate` prints: a line a mutant, how far it has come, and a table of the crates.

use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::mutant::Mutant;
use super::trial::{Trial, Verdict};
use crate::columns::{Align, aligned};

/// The mutants as `--list` shows them.
pub(super) fn list(mutants: &[Mutant], json: bool) -> Result<String> {
    if json {
        return mutants.iter().map(|mutant| Ok(serde_json::to_string(mutant)? + "\n")).collect();
    }
    let row = |mutant: &Mutant| [mutant.name.clone(), mutant.breaks.clone()];
    Ok(aligned([Align::Left; 2], &mutants.iter().map(row).collect::<Vec<_>>()))
}

/// What a mutant counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Killed,
    /// Survived, and the table says why it must.
    Equivalent,
    Survived,
    /// Killed, though the table says that it cannot be.
    NotEquivalent,
    Broken,
}

impl Outcome {
    fn of(verdict: &Verdict, is_equivalent: bool) -> Self {
        match (verdict, is_equivalent) {
            (Verdict::Killed(_), false) => Self::Killed,
            (Verdict::Killed(_), true) => Self::NotEquivalent,
            (Verdict::Survived, true) => Self::Equivalent,
            (Verdict::Survived, false) => Self::Survived,
            (Verdict::Broken(_), _) => Self::Broken,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Equivalent => "equivalent",
            Self::Survived => "SURVIVED",
            Self::NotEquivalent => "NOT EQUIVALENT",
            Self::Broken => "BROKEN",
        }
    }

    const fn is_as_it_should_be(self) -> bool {
        matches!(self, Self::Killed | Self::Equivalent)
    }
}

/// Lines on standard output, progress on standard error.
pub(super) struct Report {
    json: bool,
    width: usize,
    start: Instant,
    progress: ProgressBar,
    /// The crate of each mutant so far, and what it counts as.
    outcomes: Vec<(String, Outcome)>,
}

impl Report {
    pub(super) fn new(json: bool, mutants: &[Mutant]) -> Self {
        let style = ProgressStyle::with_template("{pos}/{len} {wide_bar} {elapsed}, {eta} left: {msg}");
        let progress = ProgressBar::new(mutants.len() as u64).with_style(style.expect("a valid template"));
        let width = mutants.iter().map(|mutant| mutant.name.len()).max().unwrap_or(0);
        Self { json, width, start: Instant::now(), progress, outcomes: Vec::new() }
    }

    /// What is being done that is no mutant.
    pub(super) fn note(&self, what: &'static str) -> Result<()> {
        self.progress.set_message(what);
        if self.progress.is_hidden() && !self.json {
            return self.print(what);
        }
        Ok(())
    }

    /// A mutant is tried from now on.
    pub(super) fn begin(&mut self, mutant: &Mutant) {
        if self.outcomes.is_empty() {
            // The time left is that of mutants, not of the first build.
            self.progress.reset_eta();
        }
        self.progress.set_message(mutant.name.clone());
    }

    /// A mutant was tried.
    pub(super) fn row(&mut self, mutant: &Mutant, trial: &Trial) -> Result<()> {
        let outcome = Outcome::of(&trial.verdict, mutant.equivalent.is_some());
        self.outcomes.push((mutant.krate().to_owned(), outcome));
        let seconds = trial.time.as_secs_f64();
        let line = if self.json {
            let by = if let Verdict::Killed(by) = &trial.verdict { &by[..] } else { &[] };
            json!({ "mutant": mutant.name, "outcome": outcome.name().to_lowercase(), "by": by, "seconds": seconds })
                .to_string()
        } else {
            let detail = detail(mutant, &trial.verdict);
            let (outcome, name, width) = (outcome.name(), &mutant.name, self.width);
            format!("{outcome:10}  {seconds:5.1} s  {name:width$}  {detail}")
        };
        self.print(&line)?;
        self.progress.inc(1);
        Ok(())
    }

    /// The table of the crates.
    ///
    /// # Errors
    /// Where a mutant survived that no test can be excused for, or did not compile.
    pub(super) fn finish(self) -> Result<()> {
        self.progress.finish_and_clear();
        let bad = self.outcomes.iter().filter(|(_, outcome)| !outcome.is_as_it_should_be()).count();
        if !self.json {
            self.print(&format!("\n{}", totals(&self.outcomes)))?;
            self.print(&format!("{} mutants in {:.0} s", self.outcomes.len(), self.start.elapsed().as_secs_f64()))?;
        }
        ensure!(bad == 0, "{bad} of the mutants above are neither killed nor equivalent as their table says");
        Ok(())
    }

    fn print(&self, line: &str) -> Result<()> {
        self.progress.suspend(|| writeln!(std::io::stdout(), "{line}")).context("cannot print")
    }
}

/// Who killed it, or why not.
fn detail(mutant: &Mutant, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Killed(by) => match &by[..] {
            [first, more @ ..] if !more.is_empty() => format!("{first} and {} more", more.len()),
            by => by.join(""),
        },
        Verdict::Survived => mutant.equivalent.clone().unwrap_or_else(|| mutant.breaks.clone()),
        Verdict::Broken(error) => error.clone(),
    }
}

/// A line a crate, in the order in which they come.
fn totals(outcomes: &[(String, Outcome)]) -> String {
    let mut crates: Vec<&str> = outcomes.iter().map(|(krate, _)| krate.as_str()).collect();
    crates.dedup();
    let mut rows = vec![["crate", "mutants", "killed", "equivalent", "survived", "broken"].map(str::to_owned)];
    rows.extend(crates.into_iter().map(|name| {
        let of_crate = || outcomes.iter().filter(|(krate, _)| krate == name);
        let count = |wanted: &[Outcome]| of_crate().filter(|(_, outcome)| wanted.contains(outcome)).count().to_string();
        [
            name.to_owned(),
            of_crate().count().to_string(),
            count(&[Outcome::Killed, Outcome::NotEquivalent]),
            count(&[Outcome::Equivalent]),
            count(&[Outcome::Survived]),
            count(&[Outcome::Broken]),
        ]
    }));
    let right = Align::Right;
    aligned([Align::Left, right, right, right, right, right], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_what_the_table_says_or_a_failure() {
        let killed = Verdict::Killed(vec!["a".into()]);
        for (verdict, is_equivalent, wanted) in [
            (&killed, false, Outcome::Killed),
            (&killed, true, Outcome::NotEquivalent),
            (&Verdict::Survived, false, Outcome::Survived),
            (&Verdict::Survived, true, Outcome::Equivalent),
            (&Verdict::Broken("e".into()), false, Outcome::Broken),
            (&Verdict::Broken("e".into()), true, Outcome::Broken),
        ] {
            assert_eq!(Outcome::of(verdict, is_equivalent), wanted);
        }
    }

    #[test]
    fn crates_are_counted_in_order() {
        let outcomes = [
            ("dot", Outcome::Killed),
            ("dot", Outcome::Equivalent),
            ("dot", Outcome::Survived),
            ("act", Outcome::NotEquivalent),
            ("act", Outcome::Broken),
        ];
        insta::assert_snapshot!(totals(&outcomes.map(|(krate, outcome)| (krate.to_owned(), outcome))));
    }
}
