//! [`Report`]: what a bench of kernels found, as a table ([`Display`](std::fmt::Display)) and as JSON lines.

mod json;
mod text;

use super::super::machine::Machine;
use super::case::Type;
use super::limits::BeforeAndAfter;
use super::peer_process::Program;
use super::row::Row;
use super::times::geometric_mean;

/// All that is told.
pub(super) struct Report {
    pub(super) tier: String,
    /// Whether our weights are interleaved, for the types that have that.
    pub(super) interleaved: bool,
    /// Whether W4A16's have a row-major copy beside them.
    pub(super) row_major: bool,
    pub(super) machine: Machine,
    /// Who multiplied beside us.
    pub(super) programs: Vec<Program>,
    pub(super) limits: BeforeAndAfter,
    pub(super) rows: Vec<Row>,
}

/// Geometric means over the shapes of a type and m.
#[derive(Debug, PartialEq)]
struct Mean {
    ty: Type,
    m: usize,
    shapes: usize,
    best_gops: f64,
    median_gops: f64,
    share: Option<f64>,
    peer_gops: Option<f64>,
    ratio: Option<f64>,
}

impl Report {
    /// By type and m, in the order of the rows.
    fn means(&self) -> Vec<Mean> {
        let limits = self.limits.best();
        let mut groups: Vec<Vec<&Row>> = Vec::new();
        for row in &self.rows {
            match groups.iter_mut().find(|group| (group[0].case.ty, group[0].case.m) == (row.case.ty, row.case.m)) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        let mean = |group: &Vec<&Row>| {
            // Of a figure that a row has not, there is no mean.
            let of = |figure: &dyn Fn(&Row) -> Option<f64>| {
                geometric_mean(&group.iter().map(|row| figure(row)).collect::<Option<Vec<_>>>()?)
            };
            Some(Mean {
                ty: group[0].case.ty,
                m: group[0].case.m,
                shapes: group.len(),
                best_gops: of(&|row| Some(row.gops(row.ours.best)))?,
                median_gops: of(&|row| Some(row.gops(row.ours.median)))?,
                share: of(&|row| row.share(&limits)),
                peer_gops: of(&|row| Some(row.gops(row.fastest()?.times.best))),
                ratio: of(&|row| row.ratio()),
            })
        };
        groups.iter().filter_map(mean).collect()
    }
}

#[cfg(test)]
mod tests;
