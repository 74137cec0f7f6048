//! `llvm-mca`: what a processor's model makes of a loop.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::processors::Processor;
use crate::packages::{self, Packages};
use crate::progress::Progress;

/// The LLVM of the project's compiler.
const PACKAGES: Packages =
    Packages { folder: "llvm", release: "trixie", whole: &["llvm-22"], alone: &[], named_by: &[] };
const PROGRAM: &str = "usr/lib/llvm-22/bin/llvm-mca";

/// Rounds that the model goes through: the first ones, which begin with empty queues, weigh little.
const ROUNDS: u32 = 1000;

/// The unpacked program.
#[derive(Debug)]
pub(super) struct Analyzer {
    root: PathBuf,
}

/// What a round takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Analysis {
    /// With everything that the model has: dependencies, and how far it looks ahead.
    pub(super) cycles: f64,
    /// For its units and its width alone, as if nothing depended on anything.
    pub(super) issue_cycles: f64,
    /// The unit that is busy longest.
    pub(super) unit: String,
    /// How long it is.
    pub(super) unit_cycles: f64,
}

impl Analyzer {
    /// The program, fetched unless it is there.
    pub(super) fn unpacked(folder: &Path, progress: &Progress) -> Result<Self> {
        Ok(Self { root: PACKAGES.unpacked(folder, progress)? })
    }

    /// Has a processor's model go through a loop.
    pub(super) fn analyze(&self, processor: Processor, instructions: &[String]) -> Result<Analysis> {
        let text: String = instructions.iter().map(|instruction| processor.modelled(instruction) + "\n").collect();
        let mut command = packages::program(&self.root, PROGRAM);
        command
            .arg(format!("--mtriple={}", processor.architecture().target()))
            .arg(format!("--mcpu={}", processor.name));
        command.args([&format!("--iterations={ROUNDS}"), "--json", "--instruction-info=false", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("llvm-mca cannot be started")?;
        // It reads everything before it writes anything.
        child.stdin.take().context("llvm-mca reads nothing")?.write_all(text.as_bytes())?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "llvm-mca on {}: {}", processor.name, said.lines().next().unwrap_or_default());
        analysis(&output.stdout)
    }
}

/// What `llvm-mca` prints, as far as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    code_regions: Vec<Region>,
    target_info: TargetInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Region {
    instructions: Vec<String>,
    resource_pressure_view: Pressure,
    summary_view: Summary,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pressure {
    resource_pressure_info: Vec<Usage>,
}

/// For how many cycles of a round an instruction uses a unit; those of all together follow those of the last one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Usage {
    instruction_index: usize,
    resource_index: usize,
    resource_usage: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Summary {
    #[serde(rename = "BlockRThroughput")]
    block_rthroughput: f64,
    iterations: f64,
    total_cycles: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TargetInfo {
    resources: Vec<String>,
}

fn analysis(json: &[u8]) -> Result<Analysis> {
    let Printed { code_regions, target_info } = serde_json::from_slice(json).context("what llvm-mca prints")?;
    let region = code_regions.into_iter().next().context("llvm-mca says nothing of the loop")?;
    let all = region.instructions.len();
    let usages = region.resource_pressure_view.resource_pressure_info;
    let busiest = usages
        .iter()
        .filter(|usage| usage.instruction_index == all)
        .max_by(|a, b| a.resource_usage.total_cmp(&b.resource_usage))
        .context("llvm-mca knows no unit")?;
    let unit = target_info.resources.get(busiest.resource_index).context("llvm-mca does not name a unit")?;
    Ok(Analysis {
        cycles: region.summary_view.total_cycles / region.summary_view.iterations,
        issue_cycles: region.summary_view.block_rthroughput,
        // One of several of the same kind has a number.
        unit: unit.split('.').next().unwrap_or_default().to_owned(),
        unit_cycles: busiest.resource_usage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_and_the_busiest_unit_are_read() {
        let json = br#"{
            "CodeRegions": [{
                "Instructions": ["sdot\tv0.4s, v1.16b, v2.16b", "ld1r\t{ v0.4s }, [x0]"],
                "Name": "",
                "ResourcePressureView": { "ResourcePressureInfo": [
                    { "InstructionIndex": 0, "ResourceIndex": 1, "ResourceUsage": 9.0 },
                    { "InstructionIndex": 2, "ResourceIndex": 0, "ResourceUsage": 0.5 },
                    { "InstructionIndex": 2, "ResourceIndex": 1, "ResourceUsage": 0.67 }
                ] },
                "SummaryView": { "BlockRThroughput": 0.66, "DispatchWidth": 6, "Iterations": 100, "TotalCycles": 77 }
            }],
            "TargetInfo": { "CPUName": "apple-m1", "Resources": ["CyUnitLS.0", "CyUnitV.0"] }
        }"#;
        let expected = Analysis { cycles: 0.77, issue_cycles: 0.66, unit: "CyUnitV".into(), unit_cycles: 0.67 };
        assert_eq!(analysis(json).expect("an analysis"), expected);
        assert!(analysis(b"{}").is_err());
    }
}
