//! Files that are written whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

use crate::interrupt::RemovedOnInterrupt;

/// A file that is being written beside the one it will replace; dropped before [`finish`](Self::finish) it is gone.
#[derive(Debug)]
pub(crate) struct Replacement {
    file: NamedTempFile,
    path: PathBuf,
    interrupt: RemovedOnInterrupt,
}

impl Replacement {
    /// Starts the replacement of `path`, which need not be there.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        ensure!(!path.is_dir(), "{} is a folder", path.display());
        // A temporary file is private by default; this one is for everyone who reads the folder.
        let readable = Permissions::from_mode(0o644);
        let file = tempfile::Builder::new()
            .permissions(readable)
            .tempfile_in(folder)
            .with_context(|| format!("cannot write in the folder {}", folder.display()))?;
        let interrupt = RemovedOnInterrupt::new(file.path());
        Ok(Self { file, path: path.to_owned(), interrupt })
    }

    /// The file so far.
    pub(crate) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Where the file is until it is finished.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Writes `bytes`, and finishes.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.finish()
    }

    /// Renames the file to its path, in one step, when all of it is on the disk.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { file, path, interrupt } = self;
        let describe = || format!("cannot write {}", path.display());
        file.as_file().sync_all().with_context(describe)?;
        file.persist(&path).map_err(|error| error.error).with_context(describe)?;
        drop(interrupt);
        Ok(())
    }
}

/// Writes a file of `bytes`.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Replacement::of(path)?.write(bytes)
}

/// Writes `text` to standard output at once; a reader that has gone away is an error, not a panic.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("ids");
        write(&path, b"old").expect("it is written");
        write(&path, b"new").expect("it is replaced");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        drop(Replacement::of(&path).expect("a started file"));
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_folder_is_no_file() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let error = write(dir.path(), b"").expect_err("a folder");
        assert!(error.to_string().ends_with(" is a folder"), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = write(Path::new("no/such/folder/ids"), b"").expect_err("no folder");
        assert!(format!("{error:#}").starts_with("cannot write in the folder no/such/folder: "), "{error:#}");
    }
}
