//! [`Report`]: what was measured, as a table ([`Display`](fmt::Display)) and as JSON lines.

use std::fmt;

use anyhow::Result;
use serde_json::json;

use super::measure::Row;
use super::metrics::Spread;
use crate::columns::{Align, aligned};

/// All that is told.
pub(super) struct Report {
    /// The file's name.
    pub(super) model: String,
    pub(super) sha256: String,
    pub(super) tier: &'static str,
    /// Of the text.
    pub(super) tokens: usize,
    pub(super) window: usize,
    pub(super) prompts: usize,
    pub(super) gen_len: usize,
    /// Of the model in bf16.
    pub(super) perplexity: f64,
    pub(super) bf16_bytes: usize,
    pub(super) rows: Vec<Row>,
}

/// The candidate whose quality is in question, and the one that it is measured by.
const GATED: [&str; 2] = ["int4", "w4a16 group 64"];

/// How many times the divergence of the other the one in question may have in the mean.
const GATE: f64 = 2.0;

/// Whether per-channel int4 is good enough to be chosen by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gate {
    /// Its mean divergence by that of W4A16.
    ratio: f64,
}

impl Gate {
    fn passes(self) -> bool {
        self.ratio <= GATE
    }
}

impl Report {
    /// Bits of a weight, where one takes 16 in the model that they are compared with.
    pub(super) fn bits(&self, row: &Row) -> f64 {
        16.0 * row.bytes as f64 / self.bf16_bytes as f64
    }

    /// `None` where one of the two was not measured.
    fn gate(&self) -> Option<Gate> {
        let mean = |name| Some(self.rows.iter().find(|row| row.name == name)?.divergence.mean);
        let [int4, w4a16] = GATED;
        Some(Gate { ratio: mean(int4)? / mean(w4a16)? })
    }

    /// The lines.
    pub(super) fn json(&self) -> Result<String> {
        let Self { model, sha256, tier, tokens, window, prompts, gen_len, perplexity, bf16_bytes, rows } = self;
        let mut lines = vec![json!({
            "op": "fidelity", "row": "bf16", "model": model, "sha256": sha256, "tier": tier, "tokens": tokens, "window": window,
            "prompts": prompts, "gen_len": gen_len, "perplexity": perplexity, "bytes": bf16_bytes,
        })];
        for row in rows {
            let Spread { mean, median, p99, largest } = row.divergence;
            lines.push(json!({
                "op": "fidelity", "row": row.name, "bytes": row.bytes, "bits_per_weight": self.bits(row),
                "perplexity": row.perplexity, "perplexity_ratio": row.perplexity / perplexity,
                "kl": { "mean": mean, "median": median, "p99": p99, "largest": largest }, "positions": row.positions,
                "flips": row.flips, "same_first": same_first(row), "reproduced": row.reproduced,
            }));
        }
        if let Some(gate) = self.gate() {
            lines.push(
                json!({ "op": "gate", "row": GATED[0], "ratio": gate.ratio, "at_most": GATE, "passes": gate.passes() }),
            );
        }
        Ok(lines.iter().map(|line| format!("{line}\n")).collect())
    }

    fn table(&self) -> String {
        let head = [
            "weights",
            "MB",
            "bits",
            "perplexity",
            "ratio",
            "KL mean",
            "median",
            "99 %",
            "largest",
            "flips",
            "same first",
            "prompts",
        ];
        let bf16 = [
            "bf16".to_owned(),
            megabytes(self.bf16_bytes),
            "16.00".to_owned(),
            format!("{:.3}", self.perplexity),
            "1".to_owned(),
        ];
        let mut table =
            vec![head.map(str::to_owned), std::array::from_fn(|i| bf16.get(i).cloned().unwrap_or_default())];
        for row in &self.rows {
            let Spread { mean, median, p99, largest } = row.divergence;
            table.push([
                row.name.clone(),
                megabytes(row.bytes),
                format!("{:.2}", self.bits(row)),
                format!("{:.3}", row.perplexity),
                format!("{:.4}", row.perplexity / self.perplexity),
                format!("{mean:.5}"),
                format!("{median:.5}"),
                format!("{p99:.4}"),
                format!("{largest:.3}"),
                row.flips.to_string(),
                format!("{:.1} %", 100.0 * same_first(row)),
                format!("{}/{}", row.reproduced, self.prompts),
            ]);
        }
        let mut columns = [Align::Right; 12];
        columns[0] = Align::Left;
        aligned(columns, &table)
    }
}

/// The part of positions with the same likeliest token.
fn same_first(row: &Row) -> f64 {
    1.0 - row.flips as f64 / row.positions as f64
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, sha256, tier, tokens, window, prompts, gen_len, .. } = self;
        writeln!(f, "model  {model}, SHA-256 {sha256}")?;
        writeln!(
            f,
            "run    tier {tier}; {tokens} tokens in windows of {window}; {prompts} prompts continued by {gen_len}"
        )?;
        writeln!(f, "KL     from bf16, in nats, over all positions\n")?;
        f.write_str(&self.table())?;
        let Some(gate) = self.gate() else { return Ok(()) };
        let [int4, w4a16] = GATED;
        let verdict = if gate.passes() { "passes" } else { "fails" };
        writeln!(f, "\ngate   {int4} {verdict}: {:.2} times the mean KL of {w4a16}, at most {GATE}", gate.ratio)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::candidates::Kind;
    use super::*;

    pub(crate) fn report() -> Report {
        let row = |name: &str, kind, bytes, perplexity, mean: f64, flips, reproduced| Row {
            name: name.to_owned(),
            kind,
            bytes,
            perplexity,
            divergence: Spread { mean, median: mean / 2.0, p99: 9.0 * mean, largest: 60.0 * mean },
            flips,
            positions: 1000,
            reproduced,
        };
        Report {
            model: "model.gguf".into(),
            sha256: "0123".into(),
            tier: "x86-64-v3",
            tokens: 1000,
            window: 512,
            prompts: 12,
            gen_len: 48,
            perplexity: 20.0,
            bf16_bytes: 270_000_000,
            rows: vec![
                row("Q8_0", Kind::Blocks, 143_437_500, 20.01, 0.0004, 6, 11),
                row("w4a16 group 64", Kind::FourBit, 75_937_500, 20.8, 0.04, 55, 3),
                row("int4", Kind::FourBit, 67_540_000, 24.0, 0.09, 120, 0),
            ],
        }
    }

    #[test]
    fn the_table_is_readable() {
        insta::assert_snapshot!(report());
    }

    #[test]
    fn each_line_of_json_is_a_row_or_the_gate() {
        insta::assert_snapshot!(report().json().expect("JSON"));
    }

    #[test]
    fn the_gate_is_twice_the_divergence_of_w4a16() {
        let mut report = report();
        assert_eq!(report.gate(), Some(Gate { ratio: 2.25 }));
        assert!(!Gate { ratio: 2.25 }.passes() && Gate { ratio: 2.0 }.passes());
        report.rows.truncate(2);
        assert_eq!(report.gate(), None);
        assert!(!report.to_string().contains("gate"));
    }
}
