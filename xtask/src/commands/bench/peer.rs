//! [`Peer`]: llama.cpp's own library with one of its settings, beside the arms.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::peer_run;
use crate::foreign::llama::Cpu;

/// How llama.cpp keeps the weights.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Setting {
    /// Copied to layouts of its own where it has one for the type: llama.cpp's default
    Repacked,
    /// As the file holds them
    Plain,
}

impl Setting {
    pub(super) const ALL: [Self; 2] = [Self::Repacked, Self::Plain];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Repacked => "repacked",
            Self::Plain => "plain",
        }
    }
}

/// What a build says of itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Description {
    /// llama.cpp's version.
    pub(super) version: String,
    /// The file of its CPU backend; none where the system does not tell.
    pub(super) backend: Option<String>,
    /// What the backend was compiled for, in llama.cpp's words.
    pub(super) system_info: String,
}

/// A build of llama.cpp: a folder of its libraries, with one of the CPU backends in it.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) folder: PathBuf,
    pub(super) cpu: Cpu,
    pub(super) description: Description,
    /// Its version, with a number where another build of the bench has the same.
    pub(super) name: String,
}

/// A build with a setting: what has a row of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer<'b> {
    pub(super) build: &'b Build,
    pub(super) setting: Setting,
}

impl Build {
    /// Opens the libraries of each folder, in processes of their own, to have them described. `cpus` are none for the best backend
    /// everywhere, one for all folders, or one for each.
    ///
    /// # Errors
    ///
    /// Another number of backends; a folder, library or backend that is not there; a processor without what it needs.
    pub(super) fn describe_all(folders: &[PathBuf], cpus: &[Cpu]) -> Result<Vec<Self>> {
        ensure!(
            cpus.len() <= 1 || cpus.len() == folders.len(),
            "--peer-variant is given {} times, --peer {}: give it once for all, or once for each",
            cpus.len(),
            folders.len()
        );
        let cpus = match cpus {
            [] => vec![Cpu::Best; folders.len()],
            [cpu] => vec![cpu.clone(); folders.len()],
            cpus => cpus.to_vec(),
        };
        let mut builds = Vec::new();
        for (folder, cpu) in folders.iter().zip(cpus) {
            let description =
                peer_run::describe_apart(folder, &cpu).with_context(|| format!("peer {}", folder.display()))?;
            builds.push(Self { folder: folder.clone(), cpu, description, name: String::new() });
        }
        let versions: Vec<_> = builds.iter().map(|build| build.description.version.clone()).collect();
        for (build, name) in builds.iter_mut().zip(names(&versions)) {
            build.name = name;
        }
        Ok(builds)
    }

    /// The name of its CPU backend: `haswell` of `libggml-cpu-haswell.so`.
    pub(super) fn variant(&self) -> Option<&str> {
        self.description.backend.as_deref()?.strip_prefix("libggml-cpu-")?.strip_suffix(".so")
    }
}

/// The versions, numbered where several are the same.
fn names(versions: &[String]) -> Vec<String> {
    let count = |versions: &[String], wanted: &String| versions.iter().filter(|version| *version == wanted).count();
    let name = |(index, version): (usize, &String)| match count(versions, version) {
        1 => version.clone(),
        _ => format!("{version} ({})", count(&versions[..=index], version)),
    };
    versions.iter().enumerate().map(name).collect()
}

impl fmt::Display for Peer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "llama.cpp {} {}", self.build.name, self.setting.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_one_version_are_numbered() {
        let versions = ["0.5.0", "0.4.0", "0.5.0"].map(str::to_owned);
        assert_eq!(names(&versions), ["0.5.0 (1)", "0.4.0", "0.5.0 (2)"]);
    }

    #[test]
    fn the_variant_is_in_the_name_of_the_backend() {
        let variant = |file: Option<&str>| {
            let description =
                Description { version: "1".into(), backend: file.map(str::to_owned), system_info: String::new() };
            let build = Build { folder: "d".into(), cpu: Cpu::Best, description, name: "1".into() };
            build.variant().map(str::to_owned)
        };
        assert_eq!(variant(Some("libggml-cpu-haswell.so")).as_deref(), Some("haswell"));
        assert_eq!(variant(Some("libggml-cpu.so.0.25.3")), None);
        assert_eq!(variant(None), None);
    }

    #[test]
    fn backends_are_given_once_for_all_or_once_for_each() {
        let folders = ["a", "b", "c"].map(PathBuf::from);
        let error = Build::describe_all(&folders, &[Cpu::Best, Cpu::Best]).expect_err("two for three");
        assert_eq!(
            error.to_string(),
            "--peer-variant is given 2 times, --peer 3: give it once for all, or once for each"
        );
    }
}
