//! [`Report`]: what a gate found, as a table ([`Display`](std::fmt::Display)) and as JSON lines.

use std::fmt;

use anyhow::Result;
use serde_json::json;

use super::super::kernels::times::Times;
use super::super::machine::Machine;
use crate::columns::{Align, aligned};

/// All that is told.
pub(super) struct Report {
    pub(super) machine: Machine,
    /// Those of a tier together.
    pub(super) rows: Vec<Row>,
}

/// What is multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// A matrix that the caches hold.
    Product { n: usize, k: usize },
    /// The matrices of some layers, read again and again.
    Stack { layers: usize, passes: usize },
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product { n, k } => write!(f, "{n} x {k}"),
            Self::Stack { layers, passes } => write!(f, "{layers} layers, {passes} times"),
        }
    }
}

/// Both sides of something, on a tier.
pub(super) struct Row {
    pub(super) what: What,
    pub(super) tier: &'static str,
    /// Times of one product, or of reading the stack once.
    pub(super) int8: Times,
    pub(super) int4: Times,
    pub(super) int8_bytes: usize,
    pub(super) int4_bytes: usize,
}

impl Row {
    /// How many times as fast int4 is, both at their best.
    fn ratio(&self) -> f64 {
        self.int8.best / self.int4.best
    }
}

/// Whether int4 may be chosen on a tier.
#[derive(Debug, PartialEq)]
struct Verdict {
    tier: &'static str,
    passes: bool,
    /// The least of its ratios.
    least: f64,
}

impl Report {
    /// It passes where it is faster in each row.
    fn verdicts(&self) -> Vec<Verdict> {
        let of_tier = self.rows.chunk_by(|one, other| one.tier == other.tier);
        let verdict = |rows: &[Row]| {
            let least = rows.iter().map(Row::ratio).fold(f64::INFINITY, f64::min);
            Verdict { tier: rows[0].tier, passes: least > 1.0, least }
        };
        of_tier.map(verdict).collect()
    }

    /// The lines.
    pub(super) fn json(&self) -> Result<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            let side = |times: &Times, bytes: usize| {
                json!({
                    "best_us": times.best * 1e6, "median_us": times.median * 1e6, "bytes": bytes, "reps": times.made,
                    "kept_reps": times.kept,
                })
            };
            let mut line = json!({
                "op": "gate", "what": row.what.to_string(), "tier": row.tier, "int8": side(&row.int8, row.int8_bytes),
                "int4": side(&row.int4, row.int4_bytes), "ratio": row.ratio(),
            });
            if let What::Product { n, k } = row.what {
                line["n"] = n.into();
                line["k"] = k.into();
            }
            lines.push(line);
        }
        for Verdict { tier, passes, least } in self.verdicts() {
            let machine = serde_json::to_value(&self.machine)?;
            lines.push(
                json!({ "op": "verdict", "tier": tier, "passes": passes, "least_ratio": least, "machine": machine }),
            );
        }
        Ok(lines.iter().map(|line| format!("{line}\n")).collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine  {}, {} cores", self.machine.cpu, self.machine.cores)?;
        writeln!(f, "run      one token of int8 codes, one thread; times of one product, or of the stack once\n")?;
        let mut rows =
            vec![["tier", "weights", "int8 MB", "int4 MB", "int8 µs", "int4 µs", "ratio", ""].map(str::to_owned)];
        for row in &self.rows {
            let megabytes = |bytes: usize| format!("{:.1}", bytes as f64 / 1e6);
            let disturbed = row.int8.kept == 0 || row.int4.kept == 0;
            rows.push([
                row.tier.to_owned(),
                row.what.to_string(),
                megabytes(row.int8_bytes),
                megabytes(row.int4_bytes),
                format!("{:.1}", row.int8.best * 1e6),
                format!("{:.1}", row.int4.best * 1e6),
                format!("{:.2}", row.ratio()),
                if disturbed { "doubtful: others had the processor" } else { "" }.to_owned(),
            ]);
        }
        let mut columns = [Align::Right; 8];
        for text in [0, 1, 7] {
            columns[text] = Align::Left;
        }
        f.write_str(&aligned(columns, &rows))?;
        writeln!(f)?;
        for Verdict { tier, passes, least } in self.verdicts() {
            let verdict = if passes {
                "passes: faster than int8 in each row"
            } else {
                "fails: it is not faster than int8 in each row"
            };
            writeln!(f, "{tier}: int4 {verdict}, {least:.2} at the least")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let times = |best| Times { best, median: best * 1.25, kept: 4, made: 5 };
        let row = |what, tier, int8, int4| Row {
            what,
            tier,
            int8: times(int8),
            int4: times(int4),
            int8_bytes: 2_105_344,
            int4_bytes: 1_056_768,
        };
        let (product, stack) = (What::Product { n: 2048, k: 1024 }, What::Stack { layers: 5, passes: 15 });
        let machine = Machine {
            cpu: "Some CPU".to_owned(),
            cores: 2,
            load_average: [Some(0.5), None],
            goldens_md5: [None, None],
        };
        let mut rows = vec![
            row(product, "portable", 400e-6, 500e-6),
            row(stack, "portable", 9e-3, 8e-3),
            row(product, "x86-64-v3", 60e-6, 40e-6),
            row(stack, "x86-64-v3", 6e-3, 3e-3),
        ];
        rows[3].int4.kept = 0;
        Report { machine, rows }
    }

    #[test]
    fn a_tier_passes_where_every_row_is_faster() {
        let verdicts = report().verdicts();
        assert_eq!(
            verdicts.iter().map(|verdict| (verdict.tier, verdict.passes)).collect::<Vec<_>>(),
            [("portable", false), ("x86-64-v3", true)]
        );
        assert!((verdicts[0].least - 0.8).abs() < 1e-12 && (verdicts[1].least - 1.5).abs() < 1e-12);
    }

    #[test]
    fn the_table_is_readable() {
        insta::assert_snapshot!(report());
    }

    #[test]
    fn each_line_of_json_is_a_row_or_a_verdict() {
        insta::assert_snapshot!(report().json().expect("JSON"));
    }
}
