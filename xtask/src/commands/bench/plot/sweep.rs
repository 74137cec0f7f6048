//! [`Sweep`]: `bench` at several lengths of prompt and numbers of threads.

use std::path::PathBuf;

use anyhow::Result;

use super::super::arm::Arm;
use super::super::peer::Peer;
use super::super::process::Work;
use super::super::summary::Figures;
use super::super::{Texts, measure};
use crate::columns::{Align, aligned};

/// What is measured.
pub(super) struct Sweep<'b> {
    pub(super) model: PathBuf,
    pub(super) texts: Texts,
    pub(super) lengths: Vec<u32>,
    pub(super) threads: Vec<usize>,
    pub(super) gen_len: usize,
    pub(super) peers: Vec<Peer<'b>>,
    pub(super) reps: u32,
}

/// What one side reaches at one length and number of threads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// `keepq`, or the peer with its version.
    pub(super) who: String,
    pub(super) threads: usize,
    pub(super) prompt_len: usize,
    /// Tokens a second.
    pub(super) prefill: f64,
    /// Tokens a second.
    pub(super) decode: f64,
}

impl Sweep<'_> {
    /// Measures all points; of a peer the better of its settings, each quantity on its own.
    pub(super) fn measure(&self) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for &threads in &self.threads {
            for &prompt_len in &self.lengths {
                let work = Work {
                    model: self.model.clone(),
                    no_mmap: false,
                    threads,
                    prompt: self.texts.prompt[..prompt_len as usize].to_vec(),
                    text: self.texts.short.clone(),
                    gen_len: self.gen_len,
                };
                let (arms, peers) = measure(&work, &[Arm::After], &self.peers, self.reps)?;
                let point = |who: String, figures: &[&Figures]| {
                    let best =
                        |value: fn(&Figures) -> f64| figures.iter().map(|figures| value(figures)).fold(0.0, f64::max);
                    let (prefill, decode) = (best(|figures| figures.prefill_tps), best(|figures| figures.decode_tps));
                    Point { who, threads, prompt_len: work.prompt.len(), prefill, decode }
                };
                points.extend(arms.iter().map(|summary| point("keepq".to_owned(), &[&summary.figures])));
                if let Some(first) = peers.first() {
                    let who = format!("llama.cpp {}", first.peer.build.name);
                    points.push(point(who, &peers.iter().map(|peer| &peer.figures).collect::<Vec<_>>()));
                }
            }
        }
        Ok(points)
    }
}

/// The points, a line each.
pub(super) fn table(points: &[Point]) -> String {
    let mut rows = vec![["", "threads", "prompt", "prefill t/s", "decode t/s"].map(str::to_owned)];
    rows.extend(points.iter().map(|point| {
        let [threads, prompt] = [point.threads, point.prompt_len].map(|number| number.to_string());
        [point.who.clone(), threads, prompt, format!("{:.1}", point.prefill), format!("{:.1}", point.decode)]
    }));
    aligned([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right], &rows)
}
