//! What `quantize` has done, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use keepq_gguf::GgmlType;
use serde::Serialize;

use super::plan::{Plan, Step};
use crate::columns::{Align, aligned};

/// The report.
#[derive(Serialize)]
pub(super) struct Report<'g> {
    from: String,
    out: String,
    /// The type asked for.
    #[serde(rename = "type")]
    ty: &'static str,
    /// Of the whole file.
    bytes_before: u64,
    bytes_after: u64,
    /// `bytes_after` as a part of `bytes_before`.
    ratio: f64,
    conversions: Vec<Conversion>,
    fallbacks: Vec<Fallback<'g>>,
}

/// All tensors that were of one type and are of another one, or of the same.
#[derive(Serialize)]
struct Conversion {
    from: &'static str,
    to: &'static str,
    tensors: usize,
    bytes_before: u64,
    bytes_after: u64,
}

/// The tensors whose rows have one length, of which the type asked for has no whole number of blocks.
#[derive(Serialize)]
struct Fallback<'g> {
    /// The type that they have.
    #[serde(rename = "type")]
    ty: &'static str,
    /// Elements of a row.
    k: u64,
    /// Elements of a block of the type asked for.
    block_len: usize,
    tensors: Vec<&'g str>,
}

impl<'g> Report<'g> {
    /// The report of a plan that was carried out, with the paths and lengths of both files.
    pub(super) fn new(plan: &Plan<'g>, from: (&Path, u64), out: (&Path, u64)) -> Self {
        let mut conversions = BTreeMap::new();
        let mut fallbacks = BTreeMap::new();
        for step in &plan.steps {
            let Step { tensor, from, to, data, .. } = step;
            let conversion = conversions.entry((from, to)).or_insert_with(|| Conversion::none(*from, *to));
            conversion.tensors += 1;
            conversion.bytes_before += data.len() as u64;
            conversion.bytes_after += step.bytes();
            if step.is_fallback {
                let k = tensor.dims()[0];
                fallbacks.entry(k).or_insert_with(|| Fallback::none(plan, *to, k)).tensors.push(tensor.name());
            }
        }
        Self {
            from: from.0.display().to_string(),
            out: out.0.display().to_string(),
            ty: plan.target.ty().name(),
            bytes_before: from.1,
            bytes_after: out.1,
            ratio: out.1 as f64 / from.1 as f64,
            conversions: conversions.into_values().collect(),
            fallbacks: fallbacks.into_values().collect(),
        }
    }
}

impl Conversion {
    fn none(from: GgmlType, to: GgmlType) -> Self {
        Self { from: from.name(), to: to.name(), tensors: 0, bytes_before: 0, bytes_after: 0 }
    }
}

impl Fallback<'_> {
    fn none(plan: &Plan<'_>, ty: GgmlType, k: u64) -> Self {
        Self { ty: ty.name(), k, block_len: plan.target.ty().block_len(), tensors: Vec::new() }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, out, ty, bytes_before, bytes_after, ratio, conversions, fallbacks } = self;
        writeln!(f, "{from} as {ty}: {out}\n")?;
        let mut rows = vec![["from", "to", "tensors", "bytes before", "bytes after"].map(str::to_owned)];
        rows.extend(conversions.iter().map(|Conversion { from, to, tensors, bytes_before, bytes_after }| {
            let to = if from == to { "kept" } else { to };
            [from.to_string(), to.to_owned(), tensors.to_string(), bytes_before.to_string(), bytes_after.to_string()]
        }));
        let columns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right];
        writeln!(f, "{}", aligned(columns, &rows))?;
        for Fallback { ty: fallback, k, block_len, tensors } in fallbacks {
            let others = match tensors.len() - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            let first = tensors[0];
            writeln!(
                f,
                "{fallback} in place of {ty}: rows of {k} elements are no whole blocks of {block_len} ({first}{others})"
            )?;
        }
        writeln!(f, "{bytes_after} bytes, {ratio:.3} of the source's {bytes_before}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_readable() {
        let conversion =
            |from, to, tensors, bytes_before, bytes_after| Conversion { from, to, tensors, bytes_before, bytes_after };
        let report = Report {
            from: "model.gguf".into(),
            out: "small.gguf".into(),
            ty: "Q4_K",
            bytes_before: 4_000_000,
            bytes_after: 1_000_000,
            ratio: 0.25,
            conversions: vec![
                conversion("F32", "F32", 5, 5120, 5120),
                conversion("F16", "Q5_0", 3, 1_000_000, 343_750),
                conversion("F16", "Q4_K", 12, 2_994_000, 650_000),
            ],
            fallbacks: vec![
                Fallback { ty: "F16", k: 33, block_len: 256, tensors: vec!["blk.0.attn_k.weight"] },
                Fallback { ty: "Q5_0", k: 288, block_len: 256, tensors: vec!["a.weight", "b.weight", "c.weight"] },
            ],
        };
        insta::assert_snapshot!(report);
    }
}
