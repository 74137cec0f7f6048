//! What was written, for people and as JSON.

use std::fmt;
use std::path::Path;

use keepq_checkpoint::Recipe;
use serde::Serialize;

use super::output::{Output, Outputs};
use crate::runtime::megabytes;

/// The report.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(super) from: String,
    out: String,
    /// `quant_method`.
    #[serde(rename = "type")]
    method: &'static str,
    group: usize,
    /// Of all files that hold weights.
    pub(super) bytes_before: u64,
    bytes_after: u64,
    tensors: usize,
    /// Whether the head is quantized.
    head: bool,
    pub(super) warnings: Vec<String>,
}

impl Report {
    pub(super) fn of(outputs: &Outputs, tensors: &[Output<'_>], recipe: Recipe, out: &Path) -> Self {
        Self {
            from: String::new(),
            out: out.display().to_string(),
            method: recipe.method().name(),
            group: recipe.group(),
            bytes_before: 0,
            bytes_after: tensors.iter().map(Output::bytes).sum(),
            tensors: tensors.len(),
            head: outputs.head_is_quantized,
            warnings: outputs.warnings.clone(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, out, method, group, bytes_before, bytes_after, tensors, head, .. } = self;
        writeln!(f, "from  {from}  {}", megabytes(*bytes_before))?;
        writeln!(f, "to    {out}  {}  {tensors} tensors", megabytes(*bytes_after))?;
        let head = if *head { "quantized" } else { "bf16" };
        writeln!(f, "as    {method}, groups of {group}, the head {head}")
    }
}
