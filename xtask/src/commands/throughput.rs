//! `xtask throughput`: how fast the loops that multiply many tokens should be on processors that this machine is not, on paper.
//!
//! The kernels are compiled as assembly, the loop that multiplies is looked up in each, and LLVM's model of a processor (`llvm-mca`, of Debian's
//! packages) says how many cycles a round takes, beside what the multiplications alone would take. Nothing is run: all loads hit the first
//! cache, branches go as they did, and the model is only as good as LLVM's tables.

mod analysis;
mod functions;
mod hot_loop;
mod instruction;
mod kernels;
mod limits;
mod processors;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::{cache, files};
use analysis::Analyzer;
use hot_loop::HotLoop;
use processors::{Architecture, PROCESSORS, Processor};
use report::Row;

/// The arguments of `throughput`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON, a line a loop and processor
    #[arg(long)]
    json: bool,
    /// Store the loops in this folder as well, a file each
    #[arg(long, value_name = "DIR")]
    loops: Option<PathBuf>,
    /// The folder to keep llvm-mca and the compiled kernels in, in its part "throughput" [default: KEEPQ_CACHE, $XDG_CACHE_HOME/keepq or
    /// ~/.cache/keepq]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = cache::folder(args.dir.as_deref())?.join("throughput");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let progress = Progress::new()?;
    let analyzer = Analyzer::unpacked(&folder, &progress)?;
    let mut assembly = BTreeMap::new();
    for architecture in [Architecture::X86_64, Architecture::Aarch64] {
        assembly.insert(architecture, kernels::compiled(&folder, architecture, &progress)?);
    }
    let functions: BTreeMap<_, _> = assembly.iter().map(|(key, text)| (*key, functions::of(text))).collect();
    let mut rows = Vec::new();
    for processor in PROCESSORS {
        progress.say(format!("{} on {}", processor.tier, processor.name));
        for name in kernels::TYPES {
            let hot = HotLoop::of(kernels::find(&functions[&processor.architecture()], processor.tier, name)?)?;
            if let Some(folder) = &args.loops {
                fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
                files::write(&folder.join(format!("{}-{name}.s", processor.tier)), hot.text().as_bytes())?;
            }
            rows.push(row(&analyzer, processor, name, &hot)?);
        }
    }
    drop(progress);
    files::print(&if args.json { report::json(&rows)? } else { report::text(&rows) })
}

/// What a processor makes of a loop.
fn row(analyzer: &Analyzer, processor: Processor, name: &'static str, hot: &HotLoop) -> Result<Row> {
    let limit = limits::needed(processor.tier, name);
    let needed = analyzer.analyze(processor, &limit.instructions)?;
    let analysis = analyzer.analyze(processor, &hot.instructions)?;
    Ok(Row {
        tier: processor.tier,
        processor: processor.name,
        ty: name,
        instructions: hot.instructions.len(),
        products: hot.products,
        cycles: analysis.cycles,
        unit: analysis.unit,
        unit_cycles: analysis.unit_cycles,
        issue_cycles: analysis.issue_cycles,
        limit: f64::from(limit.products) / needed.issue_cycles,
    })
}
