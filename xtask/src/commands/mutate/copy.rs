//! [`WorkspaceCopy`]: a copy of the workspace to break, so that the checkout stays as it is.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::interrupt::RemovedOnInterrupt;

/// What git knows of a checkout, copied, and a folder to build it in.
#[derive(Debug)]
pub(super) struct WorkspaceCopy {
    root: PathBuf,
    target: PathBuf,
    /// Held for its end, which removes what is in it.
    _temporary: Option<(RemovedOnInterrupt, TempDir)>,
}

impl WorkspaceCopy {
    /// Copies the workspace at `from`, without what git ignores. It is built in `target`, or in a temporary folder.
    pub(super) fn new(from: &Path, target: Option<&Path>) -> Result<Self> {
        let (target, temporary) = match target {
            Some(target) => {
                fs::create_dir_all(target).with_context(|| format!("cannot make the folder {}", target.display()))?;
                (std::path::absolute(target)?, None)
            }
            None => {
                let folder =
                    tempfile::Builder::new().prefix("keepq-mutate-").tempdir().context("a temporary folder")?;
                (folder.path().to_owned(), Some((RemovedOnInterrupt::new(folder.path()), folder)))
            }
        };
        let root = target.join("workspace");
        // Files that were removed from the checkout since the last run would still be tested.
        if root.exists() {
            fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
        }
        for file in files(from)? {
            let (source, copied) = (from.join(&file), root.join(&file));
            // Git lists what is removed, but not committed, as well.
            if !source.is_file() {
                continue;
            }
            fs::create_dir_all(copied.parent().context("a file has a folder")?)?;
            // Times are new, so that cargo builds again what it last built with a mutant in it.
            fs::copy(&source, &copied).with_context(|| format!("cannot copy {}", source.display()))?;
        }
        Ok(Self { root, target, _temporary: temporary })
    }

    /// The copy of the checkout's root.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// `cargo` in the copy, with a build folder of its own.
    ///
    /// What is built is built again and again with small changes: incrementally, and without debug information.
    pub(super) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        command.current_dir(&self.root);
        command.env("CARGO_TARGET_DIR", &self.target);
        command.env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_TEST_DEBUG", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    }
}

/// Files that git tracks or would add.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().context("git, which lists the files to copy, cannot be started")?;
    ensure!(output.status.success(), "git cannot list the files to copy: {}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8(output.stdout).context("names of files")?;
    Ok(list.split_terminator('\0').map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_git_knows_and_nothing_that_is_built() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        for _ in 0..2 {
            let copy = WorkspaceCopy::new(root, Some(dir.path())).expect("a copy");
            let same =
                |file: &str| fs::read(root.join(file)).expect("a file") == fs::read(copy.root().join(file)).unwrap();
            assert!(same("Cargo.lock") && same("xtask/src/commands/mutate/copy.rs") && same(".cargo/config.toml"));
            assert!(!copy.root().join("target").exists());
            // Gone in the second copy.
            fs::write(copy.root().join("crates/left-behind.rs"), "").expect("a written file");
        }
        let copy = WorkspaceCopy::new(root, Some(dir.path())).expect("a copy");
        assert!(!copy.root().join("crates/left-behind.rs").exists());
    }
}
