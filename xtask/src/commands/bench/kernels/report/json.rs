//! The result as JSON: a line for the machine's limits, then a line a row.

use anyhow::Result;
use keepq_dot::Interleaved;
use keepq_tinygemm::select::PathKind;
use serde::Serialize;

use super::super::super::machine::Machine;
use super::super::case::Type;
use super::super::four_bit::FourBit;
use super::super::limits::{Limit, Limits};
use super::super::row::{PeerTimes, Row};
use super::Report;

/// What the machine can do.
#[derive(Serialize)]
struct LimitsLine<'r> {
    op: &'static str,
    threads: usize,
    before: &'r Limits,
    after: &'r Limits,
    doubts: Vec<String>,
    #[serde(flatten)]
    machine: &'r Machine,
}

/// A row. The first keys are fixed; others may be added after them.
#[derive(Serialize)]
struct RowLine<'r> {
    op: &'static str,
    #[serde(rename = "type")]
    ty: String,
    tier: &'r str,
    n: usize,
    k: usize,
    m: usize,
    threads: usize,
    /// Whether the weights came from memory.
    cold: bool,
    best_gops: f64,
    median_gops: f64,
    /// Of weights.
    best_gbs: f64,
    limit: Option<Limit>,
    share: Option<f64>,
    /// The fastest.
    peer: Option<PeerPart<'r>>,
    /// Our best by its best.
    ratio: Option<f64>,
    /// All of them.
    peers: Vec<PeerPart<'r>>,
    reps: usize,
    /// Repetitions that the figures are of; with none of them they are of all.
    kept_reps: usize,
    /// Whether our weights were interleaved copies.
    interleaved: bool,
    /// Bytes of our weights, with their scales, in whatever layout, and without copies.
    weight_bytes: Option<usize>,
    /// Whether they have a row-major copy beside them.
    row_major: bool,
}

#[derive(Serialize)]
struct PeerPart<'r> {
    name: &'r str,
    version: &'r str,
    setting: &'r str,
    path: &'r str,
    layout: &'r str,
    best_gops: f64,
    median_gops: f64,
    reps: usize,
    kept_reps: usize,
    /// How far its product is from ours.
    difference: f64,
}

impl Report {
    /// The lines.
    pub(in super::super) fn json(&self) -> Result<String> {
        let limits = LimitsLine {
            op: "limits",
            threads: self.limits.threads,
            before: &self.limits.before,
            after: &self.limits.after,
            doubts: self.limits.doubts(),
            machine: &self.machine,
        };
        let mut text = serde_json::to_string(&limits)? + "\n";
        for row in &self.rows {
            text += &(serde_json::to_string(&self.line(row))? + "\n");
        }
        Ok(text)
    }

    fn line<'r>(&'r self, row: &'r Row) -> RowLine<'r> {
        let limits = self.limits.best();
        let part = |peer: &'r PeerTimes| PeerPart {
            name: &peer.peer.name,
            version: &peer.peer.version,
            setting: &peer.peer.setting,
            path: &peer.peer.path,
            layout: &peer.layout,
            best_gops: row.gops(peer.times.best),
            median_gops: row.gops(peer.times.median),
            reps: peer.times.made,
            kept_reps: peer.times.kept,
            difference: peer.difference,
        };
        RowLine {
            op: "matmul",
            ty: row.case.ty.to_string(),
            tier: &self.tier,
            interleaved: self.interleaved && row.case.ty.blocks().is_ok_and(Interleaved::supports),
            weight_bytes: row.case.weight_bytes(),
            row_major: self.row_major && matches!(row.case.ty, Type::FourBit(FourBit { path: PathKind::W4A16, .. })),
            n: row.case.n,
            k: row.case.k,
            m: row.case.m,
            threads: row.case.threads,
            cold: row.case.is_cold(),
            best_gops: row.gops(row.ours.best),
            median_gops: row.gops(row.ours.median),
            best_gbs: row.best_gbs(),
            limit: row.limit(&limits),
            share: row.share(&limits),
            peer: row.fastest().map(part),
            ratio: row.ratio(),
            peers: row.peers.iter().map(part).collect(),
            reps: row.ours.made,
            kept_reps: row.ours.kept,
        }
    }
}
