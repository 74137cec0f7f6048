//! [`PeerProcess`]: a program that multiplies beside us, in a process of its own.
//!
//! llama.cpp's libraries can be loaded once a process, others are not even libraries, and none of their threads may be this process's.
//! A line of JSON travels each way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::peer::Build;
use super::super::process;
use super::case::{Case, CaseMessage};
use super::data::Data;
use super::times::{Repetition, Turn};

/// What the process is asked.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Request {
    /// To prepare a case in place of the one before, and to multiply once: it answers with [`Prepared`] for each setting.
    Prepare {
        case: CaseMessage,
        /// For programs that do not make the operands themselves.
        data: Option<Data>,
    },
    /// To multiply for a while: it answers with [`Repetition`]s.
    Take { setting: String, turn: Turn },
}

/// A setting with which a case can be computed.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Prepared {
    pub(super) setting: String,
    /// What the program calls the place or the kind of the weights.
    pub(super) layout: String,
    /// Whether it has the weights in codes of its own, which are others.
    pub(super) requantized: bool,
    /// The product's part that is compared.
    pub(super) sample: Vec<f32>,
}

/// What is told of a program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Its name and version, with a number where another one of the bench has the same.
    pub(super) name: String,
    pub(super) version: String,
    /// Where it lies.
    pub(super) path: String,
    /// What else it says of itself.
    pub(super) about: String,
}

impl From<&Build> for Program {
    fn from(build: &Build) -> Self {
        let backend = build.description.backend.as_deref().unwrap_or("its CPU backend");
        Self {
            name: format!("llama.cpp {}", build.name),
            version: build.description.version.clone(),
            path: build.folder.display().to_string(),
            about: format!("{backend}; {}", build.description.system_info),
        }
    }
}

/// What a program says of itself, first of all.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Hello {
    /// Which it is.
    Here { version: String, about: String },
    /// What it cannot be run for the lack of.
    Missing { missing: String },
}

/// A running program.
pub(super) struct PeerProcess {
    pub(super) program: Program,
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl PeerProcess {
    /// Starts a build of llama.cpp.
    pub(super) fn llama(build: &Build) -> Result<Self> {
        let mut command = process::command("bench-kernels-peer")?;
        command.arg("--folder").arg(&build.folder).arg("--variant").arg(build.cpu.to_string());
        Self::start(&mut command, build.into())
    }

    /// Starts a command that first says of itself which version it is, and then answers [`Request`]s. None where it says that
    /// something is missing, which is told on standard error.
    pub(super) fn start_told(name: &str, path: &str, command: &mut Command) -> Result<Option<Self>> {
        let program =
            Program { name: name.to_owned(), version: String::new(), path: path.to_owned(), about: String::new() };
        let mut process = Self::start(command, program)?;
        match process.answer()? {
            Hello::Here { version, about } => {
                process.program.name = format!("{name} {version}");
                process.program.version = version;
                process.program.about = about;
                Ok(Some(process))
            }
            Hello::Missing { missing } => {
                eprintln!("skipped: {name}: {path}: {missing}");
                Ok(None)
            }
        }
    }

    /// Starts a command that answers [`Request`]s.
    pub(super) fn start(command: &mut Command, program: Program) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("cannot speak with {}", program.name)
        };
        Ok(Self { program, process, stdin, stdout: BufReader::new(stdout) })
    }

    /// Prepares a case; the answer is what it can be computed with.
    pub(super) fn prepare(&mut self, case: &Case, data: Option<Data>) -> Result<Vec<Prepared>> {
        self.ask(&Request::Prepare { case: (*case).into(), data })
    }

    /// Multiplies for a turn.
    pub(super) fn take(&mut self, setting: &str, turn: Turn) -> Result<Vec<Repetition>> {
        self.ask(&Request::Take { setting: setting.to_owned(), turn })
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T> {
        let line = serde_json::to_string(request)? + "\n";
        // Where the process has ended, what it says of that is better than a broken pipe.
        let _broken_pipe = self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush());
        self.answer()
    }

    /// The next line of the process, or why it has ended.
    fn answer<T: DeserializeOwned>(&mut self) -> Result<T> {
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

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // It may be in the middle of a multiplication when something else failed. Errors mean that it has ended already.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;

    use super::*;

    /// A shell that does `script` beside us.
    fn shell(script: &str) -> PeerProcess {
        let program = Program { name: "sh".into(), version: "1".into(), path: "sh".into(), about: String::new() };
        PeerProcess::start(Command::new("sh").args(["-c", script]), program).expect("a shell")
    }

    #[test]
    fn requests_and_answers_are_lines() {
        let mut peer = shell(
            r#"read -r a; echo '[{"setting":"s","layout":"l","requantized":false,"sample":[0.5]}]'
               read -r b; echo '[{"seconds":0.25,"processor_share":null}]'"#,
        );
        let case = Case { ty: GgmlType::Q4_0.into(), n: 1, k: 32, m: 1, threads: 1 };
        let prepared = peer.prepare(&case, None).expect("an answer");
        assert_eq!((&prepared[0].setting[..], &prepared[0].sample[..]), ("s", &[0.5][..]));
        let repetitions = peer.take("s", Turn { seconds: 0.0 }).expect("an answer");
        assert_eq!(repetitions[0].seconds, 0.25);
    }

    #[test]
    fn a_program_says_first_which_it_is() {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo '{"version":"1.2","about":"a shell"}'"#]);
        let process =
            PeerProcess::start_told("sh", "/bin/sh", &mut command).expect("a shell").expect("all that it needs");
        let Program { name, version, path, about } = &process.program;
        assert_eq!([name, version, path, about], ["sh 1.2", "1.2", "/bin/sh", "a shell"]);

        let mut command = Command::new("sh");
        command.args(["-c", r#"echo '{"missing":"a library"}'"#]);
        assert!(PeerProcess::start_told("sh", "/bin/sh", &mut command).expect("a shell").is_none());
    }

    #[test]
    fn a_process_that_ends_says_why() {
        let mut peer = shell("read -r a; echo error: no memory >&2; exit 1");
        assert_eq!(peer.take("s", Turn { seconds: 0.0 }).expect_err("it ended").to_string(), "no memory");
    }
}
