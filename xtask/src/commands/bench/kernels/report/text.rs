//! The result for people: the machine and its limits, a row a case, means over shapes, and what to doubt.

use std::fmt;

use super::super::super::processor::ENOUGH;
use super::super::case::Type;
use super::super::peer_process::Program;
use super::super::row::{PeerTimes, Row};
use super::super::times::Times;
use super::Report;
use crate::columns::{Align, aligned};

/// What marks figures of repetitions that did not get the processor.
const MARK: &str = "*";

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.limits.threads;
        let load = |load: Option<f64>| load.map_or("?".to_owned(), |load| format!("{load:.2}"));
        let [before, after] = self.machine.load_average.map(load);
        writeln!(
            f,
            "machine  {}, {} cores; load {before} before, {after} after",
            self.machine.cpu, self.machine.cores
        )?;
        for Program { name, path, about, .. } in &self.programs {
            writeln!(f, "peer     {name}: {path}, {about}")?;
        }
        let weights = match (self.interleaved, self.row_major) {
            (true, _) => "interleaved where the type has that",
            (_, true) => "of W4A16 with a row-major copy",
            _ => "in place",
        };
        writeln!(
            f,
            "run      tier {}, threads {threads}, weights {weights}, activations quantized in each multiplication\n",
            self.tier
        )?;
        f.write_str(&self.limits_table())?;
        writeln!(f)?;
        f.write_str(&self.table())?;
        writeln!(f)?;
        f.write_str(&self.means_table())?;
        f.write_str(&self.peers_table())?;
        self.write_doubts(f)
    }
}

impl Report {
    fn limits_table(&self) -> String {
        let mut rows = vec![["limit", "unit", "before", "after"].map(str::to_owned)];
        for (name, [before, after]) in self.limits.pairs() {
            let unit = match name {
                "read" => format!("GB/s ({} streams)", self.limits.best().streams),
                "fma" => "GFLOP/s".to_owned(),
                _ => "GOP/s".to_owned(),
            };
            rows.push([name.to_owned(), unit, format!("{before:.1}"), format!("{after:.1}")]);
        }
        aligned([Align::Left, Align::Left, Align::Right, Align::Right], &rows)
    }

    /// A row a case.
    fn table(&self) -> String {
        let head = [
            "type",
            "n",
            "k",
            "m",
            "threads",
            "weights",
            "best GOP/s",
            "median",
            "GB/s",
            "limit",
            "share",
            "peer GOP/s",
            "ratio",
            "peer",
        ];
        let limits = self.limits.best();
        let mut rows = vec![head.map(str::to_owned)];
        for row in &self.rows {
            let fastest = row.fastest();
            rows.push([
                row.case.ty.to_string(),
                row.case.n.to_string(),
                row.case.k.to_string(),
                row.case.m.to_string(),
                row.case.threads.to_string(),
                if row.case.is_cold() { "cold" } else { "hot" }.to_owned(),
                marked(row, &row.ours, row.ours.best),
                format!("{:.1}", row.gops(row.ours.median)),
                format!("{:.1}", row.best_gbs()),
                row.limit(&limits).map_or("?", |limit| limit.name).to_owned(),
                number(row.share(&limits)),
                fastest.map_or("-".to_owned(), |peer| marked(row, &peer.times, peer.times.best)),
                number(row.ratio()),
                fastest.map_or("-".to_owned(), |peer| peer.peer.name.clone()),
            ]);
        }
        let mut columns = [Align::Right; 14];
        for text in [0, 5, 9, 13] {
            columns[text] = Align::Left;
        }
        aligned(columns, &rows)
    }

    /// A row a type and m.
    fn means_table(&self) -> String {
        let head = ["geometric mean", "m", "shapes", "best GOP/s", "median", "share", "peer GOP/s", "ratio"];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(self.means().into_iter().map(|mean| {
            [
                mean.ty.to_string(),
                mean.m.to_string(),
                mean.shapes.to_string(),
                format!("{:.1}", mean.best_gops),
                format!("{:.1}", mean.median_gops),
                number(mean.share),
                mean.peer_gops.map_or("-".to_owned(), |gops| format!("{gops:.1}")),
                number(mean.ratio),
            ]
        }));
        let mut columns = [Align::Right; 8];
        columns[0] = Align::Left;
        aligned(columns, &rows)
    }

    /// A row a peer of each case of a 4-bit path, whose peers compute in ways that differ more than their speed; nothing without such.
    fn peers_table(&self) -> String {
        let head = ["peer", "type", "n", "k", "m", "GOP/s", "ratio", "layout"];
        let mut rows = vec![head.map(str::to_owned)];
        for row in self.rows.iter().filter(|row| matches!(row.case.ty, Type::FourBit(_))) {
            let of_peer = |peer: &PeerTimes| {
                [
                    peer.peer.name.clone(),
                    row.case.ty.to_string(),
                    row.case.n.to_string(),
                    row.case.k.to_string(),
                    row.case.m.to_string(),
                    marked(row, &peer.times, peer.times.best),
                    number(Some(peer.times.best / row.ours.best)),
                    peer.layout.clone(),
                ]
            };
            rows.extend(row.peers.iter().map(of_peer));
        }
        let mut columns = [Align::Right; 8];
        for text in [0, 1, 7] {
            columns[text] = Align::Left;
        }
        if rows.len() == 1 { String::new() } else { format!("\n{}", aligned(columns, &rows)) }
    }

    /// Repetitions left out, and whatever makes figures doubtful.
    fn write_doubts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || self.rows.iter().flat_map(|row| row.peers.iter().map(|peer| &peer.times).chain([&row.ours]));
        let (made, kept) = all().fold((0, 0), |(made, kept), times| (made + times.made, kept + times.kept));
        let percent = ENOUGH * 1e2;
        writeln!(
            f,
            "\n{} of {made} repetitions got under {percent}% of the processor time they asked for",
            made - kept
        )?;
        if all().any(|times| times.kept == 0) {
            writeln!(f, "{MARK} no repetition got as much: the figures are of all")?;
        }
        for doubt in self.limits.doubts() {
            writeln!(f, "doubtful: {doubt}")?;
        }
        let limits = self.limits.best();
        for row in self.rows.iter().filter(|row| row.share(&limits).is_some_and(|share| share > 1.0)) {
            writeln!(f, "doubtful: {}: more than the limit, which its probe cannot have reached", row.case)?;
        }
        Ok(())
    }
}

/// GOP/s, with a mark where no repetition had the processor.
fn marked(row: &Row, times: &Times, seconds: f64) -> String {
    format!("{:.1}{}", row.gops(seconds), if times.kept == 0 { MARK } else { "" })
}

/// Two digits, or a dash for none.
fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}
