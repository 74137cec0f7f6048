//! The test programs that emulators run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// A test program of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suite {
    package: &'static str,
    /// The name of its target: the library, with underscores, or an integration test.
    target: &'static str,
    /// Its tests that are run; all of them where none is named.
    tests: &'static [&'static str],
}

/// What runs the kernels of each tier, shortest first. Left out are tests that need a checkout, for its snapshots or seeds, and those of AMX, which no model has.
pub(super) const OF_TIERS: [Suite; 6] = [
    Suite::new("keepq-simd", "features", &["required_tiers", "the_best_tier"]),
    Suite::new("keepq-simd", "int8", &[]),
    Suite::new("keepq-gemm", "extremes", &[]),
    Suite::new("keepq-gemm", "any_bytes", &["tiers_agree", "too_few_bytes"]),
    Suite::new("keepq-simd", "tinygemm", &["acts::", "int4::", "w4a8::", "wna16::", "w4a16::"]),
    Suite::new("keepq-goldens", "parity", &["every_case"]),
];

/// What does not know of tiers: formats, and the portable definitions as another architecture's compiler has them.
pub(super) const PORTABLE: [Suite; 14] = [
    Suite::new("keepq-blocks", "keepq_blocks", &[]),
    Suite::new("keepq-act", "keepq_act", &[]),
    Suite::new("keepq-act", "quantize", &[]),
    Suite::new("keepq-dot", "keepq_dot", &[]),
    Suite::new("keepq-dot", "extremes", &[]),
    Suite::new("keepq-dot", "fma", &[]),
    Suite::new("keepq-dot", "interleaved", &[]),
    Suite::new("keepq-dot", "order", &[]),
    Suite::new("keepq-dot", "tiles", &[]),
    Suite::new("keepq-tinygemm", "int4", &[]),
    Suite::new("keepq-tinygemm", "layouts", &[]),
    Suite::new("keepq-tinygemm", "torch", &[]),
    Suite::new("keepq-tinygemm", "w4a8", &[]),
    Suite::new("keepq-tinygemm", "wna16", &[]),
];

impl Suite {
    const fn new(package: &'static str, target: &'static str, tests: &'static [&'static str]) -> Self {
        Self { package, target, tests }
    }

    /// Whether it is the library's own tests.
    fn is_library(self) -> bool {
        self.target == self.package.replace('-', "_")
    }
}

/// A built test program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) suite: Suite,
    pub(super) executable: PathBuf,
}

impl Program {
    /// The crate and the target.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.suite.package, self.suite.target)
    }

    /// The name of the file.
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}", self.suite.package, self.suite.target)
    }

    /// What it is called with.
    pub(super) fn arguments(&self) -> Vec<&'static str> {
        self.suite.tests.iter().copied().chain(["--test-threads=1"]).collect()
    }
}

/// Builds the programs of `suites` and no others with commands `cargo test`, in the order of `suites`.
pub(super) fn build_only(suites: &[Suite], cargo_test: impl Fn() -> Command) -> Result<Vec<Program>> {
    // Libraries apart: where all packages' were built, the kernels would be compiled a second time.
    let (libraries, tests): (Vec<_>, Vec<_>) = suites.iter().copied().partition(|suite| suite.is_library());
    let mut programs = Vec::new();
    for (suites, is_library) in [(libraries, true), (tests, false)] {
        let mut cargo = cargo_test();
        for package in suites.iter().map(|suite| suite.package).collect::<BTreeSet<_>>() {
            cargo.args(["--package", package]);
        }
        if is_library {
            cargo.arg("--lib");
        } else {
            for target in suites.iter().map(|suite| suite.target).collect::<BTreeSet<_>>() {
                cargo.args(["--test", target]);
            }
        }
        programs.extend(build(&mut cargo, &suites)?);
    }
    programs.sort_by_key(|program| suites.iter().position(|suite| *suite == program.suite));
    Ok(programs)
}

/// Builds the programs of `suites` with this `cargo test`, in the order of `suites`.
pub(super) fn build(cargo: &mut Command, suites: &[Suite]) -> Result<Vec<Program>> {
    cargo.args(["--no-run", "--quiet", "--message-format=json"]).stdin(Stdio::null());
    let output = cargo.output().context("cargo cannot be started")?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !output.status.success() {
        let error = messages.iter().find(|message| message["message"]["level"] == "error");
        match error.and_then(|message| message["message"]["message"].as_str()) {
            Some(error) => bail!("the tests do not build: {error}"),
            None => bail!("the tests do not build: {}", last_line(&output.stderr)),
        }
    }
    let built = |suite: &Suite| messages.iter().find_map(|message| executable(message, *suite));
    let find = |suite: &Suite| Some(Program { suite: *suite, executable: built(suite)? });
    let programs: Vec<_> = suites.iter().filter_map(find).collect();
    ensure!(programs.len() == suites.len(), "of {} test programs cargo built {}", suites.len(), programs.len());
    Ok(programs)
}

/// The executable that a message of cargo's tells of, where it is that of `suite`.
fn executable(message: &Value, suite: Suite) -> Option<PathBuf> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    // Folders of crates have their names without the project's.
    let folder = manifest.parent()?.file_name()?.to_str()?;
    let is_of_suite = suite.package.strip_prefix("keepq-") == Some(folder) && message["target"]["name"] == suite.target;
    (is_test && is_of_suite).then(|| message["executable"].as_str().map(PathBuf::from))?
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_cargo_leads_to_its_suite() {
        let message = serde_json::json!({
            "reason": "compiler-artifact",
            "manifest_path": "/w/crates/simd/Cargo.toml",
            "target": { "name": "int8" },
            "profile": { "test": true },
            "executable": "/t/int8-1234",
        });
        let of = |package, target| executable(&message, Suite::new(package, target, &[]));
        assert_eq!(of("keepq-simd", "int8"), Some("/t/int8-1234".into()));
        assert_eq!(of("keepq-dot", "int8"), None);
        assert_eq!(of("keepq-simd", "features"), None);
    }

    /// A suite that was renamed would be missed only when somebody emulates.
    #[test]
    fn suites_are_tests_of_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        for suite in OF_TIERS.iter().chain(&PORTABLE) {
            let name = suite.package.trim_start_matches("keepq-");
            let package = [root.join("crates").join(name), root.join(name)].into_iter().find(|path| path.is_dir());
            let package = package.expect("a crate of the workspace");
            let tests = package.join("tests");
            let file = [tests.join(format!("{}.rs", suite.target)), tests.join(suite.target).join("main.rs")];
            assert!(suite.is_library() || file.iter().any(|path| path.is_file()), "{suite:?}");
        }
    }
}
