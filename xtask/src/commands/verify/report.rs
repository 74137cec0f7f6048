//! What was found, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::scan::{Damage, Place, Scan};
use crate::columns::{Align, aligned};
use crate::runtime::megabytes;

/// The report.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    path: String,
    tensors: usize,
    /// That were looked at.
    bytes: u64,
    /// Damaged blocks of all tensors.
    damaged_blocks: u64,
    damaged: Vec<Row<'a>>,
    /// Tensors of types without a decoder.
    not_looked_at: Vec<NotLookedAt<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<Speed>,
}

/// A tensor with damaged blocks.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: String,
    blocks: u64,
    /// The first of the blocks, as `[row, block of the row]`; rows of a stack are counted through.
    first: Vec<[usize; 2]>,
}

/// A tensor that was not looked at.
#[derive(Serialize)]
struct NotLookedAt<'a> {
    name: &'a str,
    /// Why not.
    reason: String,
}

/// How long it takes.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Speed {
    seconds: f64,
    /// To read all bytes once and do nothing else.
    read_seconds: f64,
}

impl Speed {
    pub(super) fn new(verified: Duration, read: Duration) -> Self {
        Self { seconds: verified.as_secs_f64(), read_seconds: read.as_secs_f64() }
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(
        path: &Path,
        scan: &Scan<'_, 'a>,
        damage: &BTreeMap<usize, Damage>,
        speed: Option<Speed>,
    ) -> Self {
        let damaged = damage.iter().map(|(&index, damage)| {
            let tensor = &scan.tensors[index];
            Row {
                name: tensor.name(),
                ty: tensor.ty().map_or_else(|error| error.to_string(), |ty| ty.to_string()),
                blocks: damage.blocks,
                first: damage.first.iter().map(|&Place { row, block }| [row, block]).collect(),
            }
        });
        let not_looked_at = scan.not_looked_at.iter().map(|&index| {
            let tensor = &scan.tensors[index];
            let reason = tensor.slice(0).err().map_or_else(String::new, |error| error.kind().to_string());
            NotLookedAt { name: tensor.name(), reason }
        });
        Self {
            path: path.display().to_string(),
            tensors: scan.tensors.len(),
            bytes: scan.bytes(),
            damaged_blocks: damage.values().map(|damage| damage.blocks).sum(),
            damaged: damaged.collect(),
            not_looked_at: not_looked_at.collect(),
            speed,
        }
    }

    /// One line of what is damaged; none where nothing is.
    pub(super) fn summary_of_damage(&self) -> Option<String> {
        let (blocks, tensors) = (self.damaged_blocks, self.damaged.len());
        let are = if blocks == 1 { "block is" } else { "blocks are" };
        (blocks > 0).then(|| format!("{blocks} {are} not finite, in {tensors} of {} tensors", self.tensors))
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &Row<'_>| {
            let places = row.first.iter().map(|[row, block]| format!("{row}:{block}")).collect::<Vec<_>>().join(" ");
            let more = if row.blocks > row.first.len() as u64 { " …" } else { "" };
            [row.name.to_owned(), row.ty.clone(), row.blocks.to_string(), places + more]
        };
        if !self.damaged.is_empty() {
            let title = ["tensor", "type", "blocks", "row:block"].map(str::to_owned);
            let rows: Vec<_> = std::iter::once(title).chain(self.damaged.iter().map(row)).collect();
            writeln!(f, "{}", aligned([Align::Left, Align::Left, Align::Right, Align::Left], &rows))?;
        }
        for NotLookedAt { name, reason } in &self.not_looked_at {
            writeln!(f, "not looked at: {name}: {reason}")?;
        }
        write!(
            f,
            "{} of {} tensors, {}",
            self.tensors - self.not_looked_at.len(),
            self.tensors,
            megabytes(self.bytes)
        )?;
        writeln!(f, ": {}", if self.damaged.is_empty() { "all elements are finite" } else { "not all are finite" })?;
        match self.speed {
            Some(Speed { seconds, read_seconds }) => {
                let gigabytes = |seconds: f64| self.bytes as f64 / 1e9 / seconds;
                writeln!(
                    f,
                    "{:.1} GB/s, {:.2} times as long as reading the bytes ({:.1} GB/s)",
                    gigabytes(seconds),
                    seconds / read_seconds,
                    gigabytes(read_seconds)
                )
            }
            None => Ok(()),
        }
    }
}
