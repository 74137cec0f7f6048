//! What `parity` prints: a row a case, and how far it has come where that takes a while.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keepq_simd::Tier;
use serde_json::json;

/// After so long a person wants to see that something happens.
const PATIENCE: Duration = Duration::from_secs(2);

/// Rows on standard output, progress on standard error.
pub(super) struct Table {
    json: bool,
    tiers: Vec<&'static str>,
    width: usize,
    failures: usize,
    start: Instant,
    progress: ProgressBar,
}

impl Table {
    /// A table with a column a tier.
    pub(super) fn new<'a>(json: bool, tiers: &[Tier], names: impl Iterator<Item = &'a str>) -> Self {
        let (count, width) = names.fold((0, 0), |(count, width), name| (count + 1, width.max(name.len())));
        let style = ProgressStyle::with_template("{pos}/{len} {wide_bar} {elapsed}").expect("a valid template");
        let progress = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::hidden()).with_style(style);
        let tiers: Vec<_> = tiers.iter().map(|tier| tier.name()).collect();
        Self { json, tiers, width, failures: 0, start: Instant::now(), progress }
    }

    /// The names of the columns.
    pub(super) fn head(&self) -> Result<()> {
        if self.json {
            return Ok(());
        }
        self.print(&format!("{:width$}{}", "", self.cells(self.tiers.iter().copied()), width = self.width))
    }

    /// A case: for each tier what differs from what is stored, such as the thread counts that it was run with.
    pub(super) fn row<T: ToString>(&mut self, case: &str, golden: &str, failed: &[Vec<T>]) -> Result<()> {
        self.failures += usize::from(failed.iter().any(|failed| !failed.is_empty()));
        let results: Vec<String> = failed.iter().map(|failed| result(failed)).collect();
        if self.json {
            let tiers: serde_json::Map<_, _> =
                self.tiers.iter().zip(&results).map(|(tier, result)| ((*tier).to_owned(), json!(result))).collect();
            self.print(&json!({ "case": case, "golden": golden, "tiers": tiers }).to_string())?;
        } else {
            let cells = self.cells(results.iter().map(String::as_str));
            self.print(&format!("{case:width$}{cells}", width = self.width))?;
        }
        self.progress.inc(1);
        if self.progress.is_hidden() && self.start.elapsed() > PATIENCE {
            self.progress.set_draw_target(ProgressDrawTarget::stderr());
        }
        Ok(())
    }

    /// Something that was compared once and is equal.
    pub(super) fn note(&self, name: &str, what: &str) -> Result<()> {
        self.line(name, what, Some(true))
    }

    /// Something that cannot be compared.
    pub(super) fn skip(&self, name: &str, what: &str) -> Result<()> {
        self.line(name, what, None)
    }

    /// Something that is not as it should be.
    pub(super) fn fail(&mut self, name: &str, what: &str) -> Result<()> {
        self.failures += 1;
        self.line(name, what, Some(false))
    }

    fn line(&self, name: &str, what: &str, ok: Option<bool>) -> Result<()> {
        if self.json {
            self.print(&json!({ "check": name, "ok": ok, "detail": what }).to_string())
        } else {
            let verdict = match ok {
                Some(true) => "ok  ",
                Some(false) => "FAIL",
                None => "skip",
            };
            self.print(&format!("{name:width$}  {verdict}  {what}", width = self.width))
        }
    }

    /// The last line.
    ///
    /// # Errors
    /// Where a row failed.
    pub(super) fn finish(self, cases: usize, threads: &[usize]) -> Result<()> {
        self.progress.finish_and_clear();
        let seconds = self.start.elapsed().as_secs_f64();
        if self.json {
            let missing = Tier::missing();
            let summary = json!({
                "cases": cases, "threads": threads, "missing_tiers": missing, "failures": self.failures, "seconds": seconds
            });
            self.print(&summary.to_string())?;
        } else {
            let threads: Vec<String> = threads.iter().map(usize::to_string).collect();
            let (tiers, threads) = (self.tiers.len(), threads.join(", "));
            self.print(&format!("{cases} cases, {tiers} tiers, {threads} threads: {seconds:.1} s"))?;
            if !Tier::missing().is_empty() {
                self.print(&format!("not run, since this machine lacks them: {}", Tier::missing().join(", ")))?;
            }
        }
        ensure!(self.failures == 0, "{} of the results above are not as they should be", self.failures);
        Ok(())
    }

    fn cells<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let cells = self.tiers.iter().zip(cells).map(|(tier, cell)| format!("  {cell:width$}", width = tier.len()));
        cells.collect::<String>().trim_end().to_owned()
    }

    fn print(&self, line: &str) -> Result<()> {
        self.progress.suspend(|| writeln!(std::io::stdout(), "{line}")).context("cannot print")
    }
}

/// How a tier did: what failed.
fn result<T: ToString>(failed: &[T]) -> String {
    if failed.is_empty() {
        return "ok".into();
    }
    let failed: Vec<String> = failed.iter().map(T::to_string).collect();
    format!("FAIL {}", failed.join(","))
}
