//! [`GgmlPeer`]: a build of llama.cpp that multiplies beside us, in a process of its own.
//!
//! Its libraries can be loaded once a process, and its threads must not be this one's. The process makes its operands itself, from the
//! case; what travels is a line of JSON each way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::peer::{Build, Setting};
use super::super::process;
use super::case::{Case, CaseMessage};
use super::times::{Repetition, Turn};

/// What the process is asked.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Request {
    /// To prepare a case in place of the one before, and to multiply once: it answers with [`Prepared`] for each setting.
    Prepare(CaseMessage),
    /// To multiply for a while: it answers with [`Repetition`]s.
    Take { setting: Setting, turn: Turn },
}

/// A setting with which a case can be computed.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Prepared {
    pub(super) setting: Setting,
    /// What ggml calls the place of the weights.
    pub(super) layout: String,
    /// The product's part that is compared.
    pub(super) sample: Vec<f32>,
}

/// The process of a build.
pub(super) struct GgmlPeer<'b> {
    pub(super) build: &'b Build,
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl<'b> GgmlPeer<'b> {
    pub(super) fn start(build: &'b Build) -> Result<Self> {
        let mut command = process::command("bench-kernels-peer")?;
        command.arg("--folder").arg(&build.folder).arg("--variant").arg(build.cpu.to_string());
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a process of this program")?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("cannot speak with a process of this program")
        };
        Ok(Self { build, process, stdin, stdout: BufReader::new(stdout) })
    }

    /// Prepares a case; the answer is what it can be computed with.
    pub(super) fn prepare(&mut self, case: &Case) -> Result<Vec<Prepared>> {
        self.ask(&Request::Prepare((*case).into()))
    }

    /// Multiplies for a turn.
    pub(super) fn take(&mut self, setting: Setting, turn: Turn) -> Result<Vec<Repetition>> {
        self.ask(&Request::Take { setting, turn })
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T> {
        let line = serde_json::to_string(request)? + "\n";
        // Where the process has ended, what it says of that is better than a broken pipe.
        let _broken_pipe = self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush());
        let mut answer = String::new();
        if self.stdout.read_line(&mut answer)? > 0 {
            return serde_json::from_str(&answer).context("cannot read the process's answer");
        }
        let mut stderr = Vec::new();
        if let Some(mut pipe) = self.process.stderr.take() {
            pipe.read_to_end(&mut stderr)?;
        }
        Err(process::failure(self.process.wait()?, &stderr))
    }
}

impl Drop for GgmlPeer<'_> {
    fn drop(&mut self) {
        // It may be in the middle of a multiplication when something else failed. Errors mean that it has ended already.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
