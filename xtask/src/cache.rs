//! The cache: the folder, outside of any checkout, where model files are kept.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The variable that names the folder itself.
const VARIABLE: &str = "KEEPQ_CACHE";

/// The folder: `dir`, `KEEPQ_CACHE`, `$XDG_CACHE_HOME/keepq` or `~/.cache/keepq`, the first that there is. It is made if need be.
pub(crate) fn folder(dir: Option<&Path>) -> Result<PathBuf> {
    let path = dir
        .map(Path::to_owned)
        .or_else(|| from_variables(|name| env::var_os(name).filter(|value| !value.is_empty())))
        .with_context(|| format!("there is no place to keep models in: set {VARIABLE} to a folder"))?;
    fs::create_dir_all(&path).with_context(|| format!("cannot make the folder {}", path.display()))?;
    Ok(std::path::absolute(&path)?)
}

fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = variable(VARIABLE) {
        return Some(folder.into());
    }
    // The XDG specification has relative paths ignored.
    let xdg = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = xdg.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
    Some(cache.join("keepq"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_wins() {
        let from = |variables: &[(&str, &str)]| {
            from_variables(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        let home = ("HOME", "/home/a");
        assert_eq!(from(&[home, ("XDG_CACHE_HOME", "/var/c"), ("KEEPQ_CACHE", "k")]), Some("k".into()));
        assert_eq!(from(&[home, ("XDG_CACHE_HOME", "/var/c")]), Some("/var/c/keepq".into()));
        assert_eq!(from(&[home, ("XDG_CACHE_HOME", "c")]), Some("/home/a/.cache/keepq".into()));
        assert_eq!(from(&[]), None);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("a written file");
        let error = folder(Some(&file.join("below"))).expect_err("a file is no folder");
        assert!(error.to_string().ends_with("file/below"), "{error:#}");
    }
}
