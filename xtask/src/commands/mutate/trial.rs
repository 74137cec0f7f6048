//! [`Bench`]: builds the tests of a mutant and runs them until one fails.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::copy::WorkspaceCopy;

/// The least time that tests are given, however quick they are.
const LEAST_TIME: Duration = Duration::from_secs(60);

/// A mutant may slow its tests by so much before it counts as one that never ends.
const SLOWDOWN: u32 = 20;

/// What became of a mutant.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) verdict: Verdict,
    pub(super) time: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These tests failed, of the first test program in which any did.
    Killed(Vec<String>),
    /// No test failed.
    Survived,
    /// It does not compile, and so shows nothing: what the compiler says.
    Broken(String),
}

/// Where mutants are tried.
#[derive(Debug)]
pub(super) struct Bench<'c> {
    copy: &'c WorkspaceCopy,
    /// How long each test command took without a mutant.
    unchanged: HashMap<String, Duration>,
}

/// A built test program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    /// After a crate's own tests, which are the quickest.
    is_integration: bool,
    name: String,
    executable: PathBuf,
    folder: PathBuf,
}

impl<'c> Bench<'c> {
    pub(super) fn new(copy: &'c WorkspaceCopy) -> Self {
        Self { copy, unchanged: HashMap::new() }
    }

    /// Runs tests without a mutant, once each: where they fail by themselves they can show nothing.
    pub(super) fn pass_unchanged(&mut self, tests: &[String]) -> Result<()> {
        for test in tests {
            if self.unchanged.contains_key(test) {
                continue;
            }
            let programs = self.build(test)?.map_err(|error| anyhow::anyhow!("cargo test {test}: {error}"))?;
            ensure!(!programs.is_empty(), "cargo test {test}: there are no tests");
            let start = Instant::now();
            for program in programs {
                let failures = run(&program, test, Duration::MAX)?;
                ensure!(failures.is_empty(), "cargo test {test} fails without a mutant: {}", failures.join(", "));
            }
            self.unchanged.insert(test.clone(), start.elapsed());
        }
        Ok(())
    }

    /// Runs the tests with the mutant that was written to the copy, until one fails.
    pub(super) fn try_mutant(&self, tests: &[String]) -> Result<Trial> {
        let start = Instant::now();
        let verdict = self.verdict(tests)?;
        Ok(Trial { verdict, time: start.elapsed() })
    }

    fn verdict(&self, tests: &[String]) -> Result<Verdict> {
        for test in tests {
            let programs = match self.build(test)? {
                Ok(programs) => programs,
                Err(error) => return Ok(Verdict::Broken(error)),
            };
            let usual = self.unchanged.get(test).copied().unwrap_or_default();
            for program in programs {
                let failures = run(&program, test, LEAST_TIME.max(usual * SLOWDOWN))?;
                if !failures.is_empty() {
                    return Ok(Verdict::Killed(failures));
                }
            }
        }
        Ok(Verdict::Survived)
    }

    /// Builds the programs of `cargo test <test>`; what the compiler says where it refuses.
    fn build(&self, test: &str) -> Result<Result<Vec<Program>, String>> {
        let (arguments, _) = split(test);
        let mut cargo = self.copy.cargo();
        cargo.args(["test", "--no-run", "--quiet", "--locked", "--message-format=json"]).args(arguments);
        let output = cargo.output().context("cargo cannot be started")?;
        let messages = String::from_utf8(output.stdout).context("cargo's messages")?;
        let messages = messages.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
        if output.status.success() {
            let mut programs: Vec<Program> = messages.iter().filter_map(program).collect();
            programs.sort();
            return Ok(Ok(programs));
        }
        let error = messages.iter().find(|message| message["message"]["level"] == "error");
        match error.and_then(|message| message["message"]["message"].as_str()) {
            Some(error) => Ok(Err(error.to_owned())),
            None => bail!("cargo test {test}: {}", String::from_utf8_lossy(&output.stderr).trim()),
        }
    }
}

/// The arguments of cargo, and those of the test programs.
fn split(test: &str) -> (Vec<&str>, Vec<&str>) {
    let mut words = test.split_whitespace();
    let cargo = words.by_ref().take_while(|word| *word != "--").collect();
    (cargo, words.collect())
}

/// The test program that a message of cargo's tells of, if it does.
fn program(message: &Value) -> Option<Program> {
    let executable = message["executable"].as_str()?.into();
    let target = &message["target"];
    let is_integration = target["kind"].as_array()?.iter().any(|kind| kind == "test");
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let is_test = message["profile"]["test"] == true;
    is_test.then(|| Program {
        is_integration,
        name: target["name"].as_str().unwrap_or_default().into(),
        executable,
        folder,
    })
}

/// Runs a test program; the tests that fail, or what became of the program as a whole.
fn run(program: &Program, test: &str, limit: Duration) -> Result<Vec<String>> {
    let mut command = Command::new(&program.executable);
    // As cargo does.
    command.current_dir(&program.folder).args(split(test).1);
    // What the environment asks for would change what is tested; what tests draw by chance would change who notices.
    for variable in ["KEEPQ_TIER", "KEEPQ_AMX", "KEEPQ_THREADS", "KEEPQ_EXECUTOR", "KEEPQ_KEEP_QUANT", "KEEPQ_CPU_REF"]
    {
        command.env_remove(variable);
    }
    command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("INSTA_UPDATE", "no");
    let (status, output) = run_for(command, limit).with_context(|| program.executable.display().to_string())?;
    let failures: Vec<String> = output
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .map(|test| format!("{}::{test}", program.name))
        .collect();
    Ok(match status {
        Some(status) if status.success() => Vec::new(),
        Some(_) if !failures.is_empty() => failures,
        Some(status) => vec![format!("{} ends with {status}", program.name)],
        None => vec![format!("{} does not end", program.name)],
    })
}

/// Runs a command for so long at most: how it ended, if it did, and what it printed.
fn run_for(mut command: Command, limit: Duration) -> Result<(Option<ExitStatus>, String)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut stdout = child.stdout.take().context("its output")?;
    let reader = thread::spawn(move || {
        let mut output = Vec::new();
        stdout.read_to_end(&mut output).map(|_| output)
    });
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let output = reader.join().map_err(|_| anyhow::anyhow!("its output cannot be read"))??;
    Ok((status, String::from_utf8_lossy(&output).into_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_after_two_dashes_choose_tests() {
        assert_eq!(split("-p a --lib -- one two"), (vec!["-p", "a", "--lib"], vec!["one", "two"]));
        assert_eq!(split("-p a"), (vec!["-p", "a"], vec![]));
    }

    #[test]
    fn programs_are_read_from_messages_and_a_crates_own_tests_come_first() {
        let message = |name: &str, kind: &str| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/w/a/Cargo.toml", "executable": format!("/t/{name}"),
                "target": { "kind": [kind], "name": name }, "profile": { "test": true }
            })
        };
        let mut programs: Vec<_> =
            [message("b", "test"), message("z", "lib"), message("a", "test")].iter().filter_map(program).collect();
        programs.sort();
        assert_eq!(programs.iter().map(|program| program.name.as_str()).collect::<Vec<_>>(), ["z", "a", "b"]);
        assert_eq!(programs[0].folder, Path::new("/w/a"));
        assert_eq!(program(&json!({ "reason": "build-finished", "success": true })), None);
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let sleep = |seconds: &str| {
            let mut command = Command::new("sleep");
            command.arg(seconds);
            command
        };
        let (status, _) = run_for(sleep("60"), Duration::from_millis(50)).expect("it starts");
        assert_eq!(status, None);
        let (status, _) = run_for(sleep("0"), Duration::from_secs(60)).expect("it starts");
        assert!(status.expect("it ends").success());
    }
}
