//! Processes of this program: how `bench` starts one for each run, and how it answers.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// What every run of a bench does.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) model: PathBuf,
    /// Whether the file is read into memory instead of being mapped.
    pub(super) no_mmap: bool,
    pub(super) threads: usize,
    pub(super) prompt: Vec<u32>,
    /// What [`first_token`](super::first_token) is measured with.
    pub(super) text: String,
    pub(super) gen_len: usize,
}

/// A command of this program.
pub(super) fn command(name: &str) -> Result<Command> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg(name);
    Ok(command)
}

/// Runs a command that reads `prompt` from standard input and writes its answer to standard output, as JSON both.
pub(super) fn ask<T: DeserializeOwned>(command: &mut Command, prompt: &[u32]) -> Result<T> {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a process of this program")?;
    if let Some(mut stdin) = process.stdin.take() {
        // Where the process has ended already, what it says of that is better than a broken pipe.
        let _broken_pipe = stdin.write_all(&serde_json::to_vec(prompt)?);
    }
    let Output { status, stdout, stderr } = process.wait_with_output()?;
    if !status.success() {
        return Err(failure(status, &stderr));
    }
    serde_json::from_slice(&stdout).context("cannot read the process's answer")
}

/// Runs a command that writes its answer to standard output, as a line of JSON, and gives the time from before it was started until
/// that line was there. What the process does afterwards to end is not in it.
pub(super) fn ask_and_time<T: DeserializeOwned>(command: &mut Command) -> Result<(T, Duration)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut process = command.spawn().context("cannot start a process of this program")?;
    let mut line = String::new();
    if let Some(stdout) = process.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let elapsed = start.elapsed();
    let Output { status, stderr, .. } = process.wait_with_output()?;
    if !status.success() {
        return Err(failure(status, &stderr));
    }
    Ok((serde_json::from_str(&line).context("cannot read the process's answer")?, elapsed))
}

/// Why a process of this program ended so, in a line.
pub(crate) fn failure(status: ExitStatus, stderr: &[u8]) -> Error {
    // Its own error is one line; a panic is a line too, and hints after it.
    let stderr = String::from_utf8_lossy(stderr);
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    match (line, status.signal()) {
        (Some(line), _) if line.starts_with("error: ") => anyhow!("{}", &line["error: ".len()..]),
        (None, Some(ILLEGAL_INSTRUCTION)) => anyhow!("this processor lacks an instruction that it needs"),
        (line, _) => anyhow!("the process ended with {status}: {}", line.unwrap_or("no message")),
    }
}

/// The signal SIGILL.
const ILLEGAL_INSTRUCTION: i32 = 4;

/// Has this process end where the one that started it does, however that ends: nobody would hear its answer.
pub(super) fn end_with_parent() -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .context("cannot follow the process that started this one")?;
    Ok(())
}

/// The prompt that [`ask`] hands to this process.
pub(super) fn prompt() -> Result<Vec<u32>> {
    serde_json::from_reader(io::stdin().lock()).context("standard input")
}

/// Gives [`ask`] its answer.
pub(super) fn answer(answer: &impl Serialize) -> Result<()> {
    files::print(&(serde_json::to_string(answer)? + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a shell that does `script`.
    fn error_of(script: &str) -> String {
        ask::<u32>(Command::new("sh").args(["-c", script]), &[1]).expect_err("it fails").to_string()
    }

    #[test]
    fn the_reason_of_a_failure_is_one_line() {
        assert_eq!(error_of("echo error: no luck >&2; exit 1"), "no luck");
        assert_eq!(error_of("echo >&2; echo thread panicked >&2; echo hint >&2; exit 3"), {
            "the process ended with exit status: 3: thread panicked"
        });
        assert_eq!(error_of("exit 3"), "the process ended with exit status: 3: no message");
        assert_eq!(error_of("kill -ILL $$"), "this processor lacks an instruction that it needs");
        assert_eq!(error_of("echo yes"), "cannot read the process's answer");
    }

    #[test]
    fn the_time_is_that_of_the_answer() {
        let (answer, elapsed) =
            ask_and_time::<u32>(Command::new("sh").args(["-c", "sleep 0.05; echo 7; sleep 0.5"])).expect("an answer");
        assert_eq!(answer, 7);
        assert!((Duration::from_millis(50)..Duration::from_millis(500)).contains(&elapsed), "{elapsed:?}");
        let error = ask_and_time::<u32>(Command::new("sh").args(["-c", "echo error: no luck >&2; exit 1"]));
        assert_eq!(error.expect_err("it fails").to_string(), "no luck");
    }

    #[test]
    fn the_prompt_is_handed_over() {
        let ids: Vec<u32> = ask(&mut Command::new("cat"), &[3, 1]).expect("an echo");
        assert_eq!(ids, [3, 1]);
    }
}
