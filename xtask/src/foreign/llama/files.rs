//! Which files of a folder are llama.cpp's libraries.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

/// Which of the folder's CPU backends computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cpu {
    /// The one that llama.cpp itself picks for this processor; written `best`.
    Best,
    /// `libggml-cpu-<name>.so`, such as `x64` or `haswell`.
    Variant(String),
}

impl Cpu {
    /// Whether the folder has it; whether it runs on this processor is seen when it is loaded.
    pub(crate) fn is_in(&self, dir: &Path) -> bool {
        Files::locate(dir, self).is_ok()
    }
}

impl FromStr for Cpu {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "best" => Self::Best,
            variant => Self::Variant(variant.to_owned()),
        })
    }
}

impl std::fmt::Display for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Best => "best",
            Self::Variant(name) => name,
        })
    }
}

/// The libraries of a folder, all of them present.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) base: PathBuf,
    pub(super) ggml: PathBuf,
    pub(super) llama: PathBuf,
    /// The backend to load by name; none for [`Cpu::Best`].
    pub(super) cpu: Option<PathBuf>,
}

impl Files {
    /// Finds `libggml-base.so`, `libggml.so` and `libllama.so` (or `libggml.v*.so` and
    /// `libllama.v*.so`) and the CPU backend in `dir`.
    pub(super) fn locate(dir: &Path, cpu: &Cpu) -> Result<Self> {
        let entries = fs::read_dir(dir)
            .with_context(|| format!("cannot read the folder of llama.cpp's libraries, {}", dir.display()))?;
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();

        let base = dir.join(pick(&names, "libggml-base", dir)?);
        let ggml = dir.join(pick(&names, "libggml", dir)?);
        let llama = dir.join(pick(&names, "libllama", dir)?);
        let cpu = match cpu {
            Cpu::Best => None,
            Cpu::Variant(variant) => {
                let name = format!("libggml-cpu-{variant}.so");
                if !names.contains(&name) {
                    let known: Vec<&str> = names
                        .iter()
                        .filter_map(|name| name.strip_prefix("libggml-cpu-")?.strip_suffix(".so"))
                        .collect();
                    let known = if known.is_empty() { "none but best".to_owned() } else { known.join(" ") };
                    bail!("{} has no {name}; its variants: {known}", dir.display());
                }
                Some(dir.join(name))
            }
        };
        Ok(Self { base, ggml, llama, cpu })
    }
}

/// The CPU backend that this process has opened, by its file: the best one of a folder is picked by llama.cpp, which does not
/// tell. None where the system does not list what is mapped.
pub(super) fn opened_backend() -> Option<PathBuf> {
    backend_in(&fs::read_to_string("/proc/self/maps").ok()?)
}

/// The first file of a CPU backend in Linux's list of mappings.
fn backend_in(maps: &str) -> Option<PathBuf> {
    let mut files = maps.lines().filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let is_backend = |file: &&Path| {
        file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("libggml-cpu"))
    };
    files.find(is_backend).map(Path::to_owned)
}

/// `<stem>.so` if it is there, else the only `<stem>.v<version>.so`.
fn pick<'a>(names: &'a [String], stem: &str, dir: &Path) -> Result<&'a str> {
    let plain = format!("{stem}.so");
    if let Some(name) = names.iter().find(|name| **name == plain) {
        return Ok(name);
    }
    let versioned = format!("{stem}.v");
    let mut found = names.iter().filter(|name| name.starts_with(&versioned) && name.ends_with(".so"));
    let Some(name) = found.next() else {
        bail!("{} has no {plain} and no {versioned}*.so", dir.display());
    };
    ensure!(found.next().is_none(), "{} has several {versioned}*.so and no {plain}", dir.display());
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of empty files, and the error of looking for `cpu` in it, without the folder's name.
    fn error_in(files: &[&str], cpu: &Cpu) -> String {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for name in files {
            fs::write(dir.path().join(name), []).expect("an empty file");
        }
        let error = Files::locate(dir.path(), cpu).expect_err("a library is missing");
        format!("{error:#}").replace(&dir.path().display().to_string(), "DIR")
    }

    #[test]
    fn errors_name_the_missing_library() {
        let haswell = Cpu::Variant("haswell".to_owned());
        let base = "libggml-base.so";
        assert_eq!(error_in(&[], &Cpu::Best), "DIR has no libggml-base.so and no libggml-base.v*.so");
        assert_eq!(error_in(&[base], &Cpu::Best), "DIR has no libggml.so and no libggml.v*.so");
        assert_eq!(error_in(&[base, "libggml.so"], &Cpu::Best), "DIR has no libllama.so and no libllama.v*.so");
        assert_eq!(
            error_in(&[base, "libggml.so", "libllama.v1.so", "libllama.v2.so"], &Cpu::Best),
            "DIR has several libllama.v*.so and no libllama.so"
        );
        assert_eq!(
            error_in(&[base, "libggml.so", "libllama.so", "libggml-cpu-x64.so", "libggml-cpu-zen4.so"], &haswell),
            "DIR has no libggml-cpu-haswell.so; its variants: x64 zen4"
        );
        assert_eq!(
            error_in(&[base, "libggml.so", "libllama.so", "libggml-cpu.so"], &haswell),
            "DIR has no libggml-cpu-haswell.so; its variants: none but best"
        );
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = Files::locate(Path::new("no/such/folder"), &Cpu::Best).expect_err("no folder");
        assert!(
            format!("{error:#}")
                .starts_with("cannot read the folder of llama.cpp's libraries, no/such/folder: No such file"),
            "{error:#}"
        );
    }

    #[test]
    fn the_backend_is_found_among_the_mappings() {
        let maps = "5600-5700 r--p 00000000 08:01 12  /usr/bin/a program\n\
                    7f00-7f10 rw-p 00000000 00:00 0\n\
                    7f10-7f20 r--p 00000000 08:01 13  /a b/libggml-base.so\n\
                    7f20-7f30 r--p 00000000 08:01 14  /a b/libggml-cpu-zen4.so\n";
        assert_eq!(backend_in(maps).as_deref(), Some(Path::new("/a b/libggml-cpu-zen4.so")));
        assert_eq!(backend_in("7f00-7f10 rw-p 00000000 00:00 0  [heap]\n"), None);
    }

    #[test]
    fn versioned_names_are_found() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for name in ["libggml-base.so", "libggml.v0.4.0.so", "libllama.v0.4.0.so", "libggml-cpu-x64.so"] {
            fs::write(dir.path().join(name), []).expect("an empty file");
        }
        let files = Files::locate(dir.path(), &Cpu::Variant("x64".to_owned())).expect("all there");
        assert_eq!(files.ggml, dir.path().join("libggml.v0.4.0.so"));
        assert_eq!(files.llama, dir.path().join("libllama.v0.4.0.so"));
        assert_eq!(files.cpu, Some(dir.path().join("libggml-cpu-x64.so")));
    }
}
