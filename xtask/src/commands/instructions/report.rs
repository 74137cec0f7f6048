//! [`Report`]: every count beside the stored one, as a table ([`Display`](fmt::Display)) and as JSON lines.

use std::fmt;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::Counts;
use super::cases::{Measured, is_out_of_reach};
use super::compare::{Change, ratio};
use crate::columns::{Align, aligned};

/// What is told.
pub(super) struct Report<'m> {
    rows: Vec<Row<'m>>,
    /// Stored cases that were not counted, though this machine has their tier.
    gone: Vec<String>,
}

/// A case.
struct Row<'m> {
    measured: &'m Measured,
    stored: Option<u64>,
    change: Change,
}

/// A case as JSON.
#[derive(Serialize)]
struct Line<'m> {
    op: &'static str,
    name: String,
    what: &'m str,
    tier: &'m str,
    m: usize,
    instructions: u64,
    per_element: f64,
    stored: Option<u64>,
    change: &'static str,
}

impl<'m> Report<'m> {
    pub(super) fn new(measured: &'m [Measured], stored: &Counts) -> Self {
        let row = |measured: &'m Measured| {
            let stored = stored.get(&measured.name()).copied();
            Row { measured, stored, change: Change::of(measured.count, stored) }
        };
        let was_counted = |name: &String| measured.iter().any(|measured| measured.name() == *name);
        let gone = stored.keys().filter(|name| !was_counted(name) && !is_out_of_reach(name)).cloned().collect();
        Self { rows: measured.iter().map(row).collect(), gone }
    }

    /// A line a case.
    pub(super) fn json(&self) -> Result<String> {
        let mut text = String::new();
        for Row { measured, stored, change } in &self.rows {
            let line = Line {
                op: "instructions",
                name: measured.name(),
                what: &measured.case.what,
                tier: &measured.case.tier,
                m: measured.case.m,
                instructions: measured.count,
                per_element: measured.per_element(),
                stored: *stored,
                change: change.name(),
            };
            text += &(serde_json::to_string(&line)? + "\n");
        }
        Ok(text)
    }

    /// # Errors
    /// A case that takes more than it may, or of which nothing is stored; a stored one that there is no more.
    pub(super) fn check(&self) -> Result<()> {
        let failures: Vec<_> =
            self.rows.iter().filter(|row| row.change.is_failure()).map(|row| row.measured.name()).collect();
        ensure!(
            failures.is_empty(),
            "{} of {} cases take more instructions than stored, or are not stored: {}; \
             `cargo xtask instructions --bless` stores them",
            failures.len(),
            self.rows.len(),
            failures.join(", ")
        );
        ensure!(self.gone.is_empty(), "stored and no longer counted: {}", self.gone.join(", "));
        Ok(())
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![["case", "instructions", "each", "stored", "ratio", ""].map(str::to_owned)];
        for Row { measured, stored, change } in &self.rows {
            rows.push([
                measured.name(),
                measured.count.to_string(),
                format!("{:.4}", measured.per_element()),
                stored.map_or("-".to_owned(), |stored| stored.to_string()),
                stored.map_or("-".to_owned(), |stored| format!("{:.3}", ratio(measured.count, stored))),
                change.name().to_owned(),
            ]);
        }
        let mut columns = [Align::Right; 6];
        columns[0] = Align::Left;
        columns[5] = Align::Left;
        f.write_str(&aligned(columns, &rows))?;
        let fewer = self.rows.iter().filter(|row| row.change == Change::Fewer).count();
        if fewer > 0 {
            let all = self.rows.len();
            writeln!(
                f,
                "\n{fewer} of {all} cases take fewer than stored; `cargo xtask instructions --bless` stores them"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::Case;
    use super::*;

    fn measured(m: usize, count: u64) -> Measured {
        let case = Case { what: "Q4_K".into(), tier: "portable".into(), m, elements: 1000 };
        Measured { case, count }
    }

    fn stored(counts: &[(&str, u64)]) -> Counts {
        counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn the_table_tells_what_changed() {
        let cases = [measured(1, 900), measured(8, 1100), measured(128, 1000)];
        let report = Report::new(&cases, &stored(&[("Q4_K portable m=1", 1000), ("Q4_K portable m=8", 1000)]));
        insta::assert_snapshot!(report);
        insta::assert_snapshot!(report.json().expect("JSON"));
        assert_eq!(
            report.check().expect_err("more, and new").to_string(),
            "2 of 3 cases take more instructions than stored, or are not stored: Q4_K portable m=8, \
             Q4_K portable m=128; `cargo xtask instructions --bless` stores them"
        );
    }

    #[test]
    fn fewer_is_no_failure_and_a_case_that_is_gone_is() {
        let cases = [measured(1, 900)];
        assert!(Report::new(&cases, &stored(&[("Q4_K portable m=1", 1000)])).check().is_ok());
        let report = Report::new(&cases, &stored(&[("Q4_K portable m=1", 900), ("Q9 portable m=1", 1)]));
        let error = report.check().expect_err("gone").to_string();
        assert_eq!(error, "stored and no longer counted: Q9 portable m=1");
    }
}
