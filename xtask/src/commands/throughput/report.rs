//! The results, for people and for programs.

use anyhow::Result;
use serde::Serialize;

use super::kernels::TYPES;
use crate::columns::{Align, aligned};

/// A loop on a processor.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) tier: &'static str,
    pub(super) processor: &'static str,
    #[serde(rename = "type")]
    pub(super) ty: &'static str,
    /// Of a round of the loop.
    pub(super) instructions: usize,
    /// Products of bytes of a round.
    pub(super) products: u32,
    /// Cycles of a round.
    pub(super) cycles: f64,
    /// Cycles of a round if nothing waited for results.
    pub(super) issue_cycles: f64,
    /// The unit that is busy longest, and for how many cycles of a round.
    pub(super) unit: String,
    pub(super) unit_cycles: f64,
    /// Products a cycle if there were nothing but products and what adds them up.
    pub(super) limit: f64,
}

impl Row {
    fn products_per_cycle(&self) -> f64 {
        f64::from(self.products) / self.cycles
    }

    fn share(&self) -> f64 {
        self.products_per_cycle() / self.limit
    }
}

/// A line a loop.
pub(super) fn json(rows: &[Row]) -> Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(flatten)]
        row: &'a Row,
        products_per_cycle: f64,
        share: f64,
    }
    let mut lines = String::new();
    for row in rows {
        let line = Line { row, products_per_cycle: row.products_per_cycle(), share: row.share() };
        lines += &(serde_json::to_string(&line)? + "\n");
    }
    Ok(lines)
}

/// Columns before those of the types.
const FIRST: usize = 2;

/// A line a tier and processor: products a cycle, and their share of the limit.
pub(super) fn text(rows: &[Row]) -> String {
    const COLUMNS: usize = FIRST + TYPES.len();
    let mut head: [String; COLUMNS] = Default::default();
    head[0] = "tier".into();
    head[1] = "processor".into();
    for (cell, ty) in head[FIRST..].iter_mut().zip(TYPES) {
        *cell = ty.into();
    }
    let mut lines = vec![head];
    for rows in rows.chunk_by(|a, b| (a.tier, a.processor) == (b.tier, b.processor)) {
        let mut line: [String; COLUMNS] = Default::default();
        line[0] = rows[0].tier.into();
        line[1] = rows[0].processor.into();
        for (cell, ty) in line[FIRST..].iter_mut().zip(TYPES) {
            if let Some(row) = rows.iter().find(|row| row.ty == ty) {
                *cell = format!("{:.1} {:.2}", row.products_per_cycle(), row.share());
            }
        }
        lines.push(line);
    }
    let mut columns = [Align::Right; COLUMNS];
    columns[..FIRST].fill(Align::Left);
    aligned(columns, &lines) + "Products a cycle, and their share of what products alone could be.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ty: &'static str, cycles: f64) -> Row {
        Row {
            tier: "neon-dotprod",
            processor: "neoverse-v1",
            ty,
            instructions: 274,
            products: 2048,
            cycles,
            issue_cycles: 44.5,
            unit: "V1UnitV0".into(),
            unit_cycles: 40.0,
            limit: 64.0,
        }
    }

    #[test]
    fn a_line_a_processor_or_a_loop() {
        let rows = [row("Q4_0", 64.0), row("Q6_K", 51.2)];
        insta::assert_snapshot!(text(&rows) + &json(&rows).expect("JSON"));
    }
}
