//! Files that are written whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

use crate::interrupt::RemovedOnInterrupt;

/// A file that is being written for the place of another; dropped before [`finish`](Self::finish) it is gone.
///
/// Where the file system can, it has no name until then, so that nothing is left of it however the program ends.
#[derive(Debug)]
pub(crate) struct Replacement {
    file: Unfinished,
    path: PathBuf,
}

/// A file that is not at its place yet.
#[derive(Debug)]
enum Unfinished {
    /// Without a name.
    Unnamed(File),
    /// Beside its place, under another name.
    Named { file: NamedTempFile, _interrupt: RemovedOnInterrupt },
}

impl Replacement {
    /// Starts the replacement of `path`, which need not be there.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        ensure!(!path.is_dir(), "{} is a folder", path.display());
        let folder = folder_of(path);
        let file = match unnamed_in(folder) {
            Some(file) => Unfinished::Unnamed(file),
            None => Unfinished::named_in(folder)?,
        };
        Ok(Self { file, path: path.to_owned() })
    }

    /// The file so far, which can be read too.
    pub(crate) fn file(&mut self) -> &mut File {
        match &mut self.file {
            Unfinished::Unnamed(file) => file,
            Unfinished::Named { file, .. } => file.as_file_mut(),
        }
    }

    /// Writes `bytes`, and finishes.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<()> {
        self.file().write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.finish()
    }

    /// Puts the file in its place, in one step, when all of it is on the disk.
    pub(crate) fn finish(mut self) -> Result<()> {
        let synced = self.file().sync_all();
        let Self { file, path } = self;
        let describe = || format!("cannot write {}", path.display());
        synced.with_context(describe)?;
        match file {
            Unfinished::Unnamed(file) => put(&file, &path).with_context(describe),
            Unfinished::Named { file, _interrupt } => {
                file.persist(&path).map_err(|error| error.error).with_context(describe)?;
                Ok(())
            }
        }
    }
}

impl Unfinished {
    fn named_in(folder: &Path) -> Result<Self> {
        // A temporary file is private by default; this one is for everyone who reads the folder.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)
            .with_context(|| format!("cannot write in the folder {}", folder.display()))?;
        Ok(Self::Named { _interrupt: RemovedOnInterrupt::new(file.path()), file })
    }
}

/// Who may read and write what is written.
const MODE: u32 = 0o644;

/// The folder that a path is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file without a name; none where the system or the folder's file system has no such thing, or the folder cannot be written to.
#[cfg(target_os = "linux")]
fn unnamed_in(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};

    let file = open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(MODE)).ok()?;
    Some(file.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed_in(_: &Path) -> Option<File> {
    None
}

/// Gives a file without a name this one.
///
/// A link does not replace what is there, as renaming does: then the file is linked beside it and renamed at once.
#[cfg(target_os = "linux")]
fn put(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD, linkat};

    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |path: &Path| linkat(CWD, &unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from);
    match link(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let beside = tempfile::Builder::new().make_in(folder_of(path), link)?.into_temp_path();
            Ok(beside.persist(path)?)
        }
        done => done,
    }
}

#[cfg(not(target_os = "linux"))]
fn put(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
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

    /// Where the system has files without a name, and where not.
    #[test]
    fn a_file_with_a_name_meanwhile_ends_at_the_same_place() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("ids");
        for bytes in [b"old", b"new"] {
            let file = Unfinished::named_in(dir.path()).expect("a started file");
            Replacement { file, path: path.clone() }.write(bytes).expect("it is written");
            assert_eq!(fs::read(&path).expect("a file"), bytes);
        }
        drop(Replacement { file: Unfinished::named_in(dir.path()).expect("a started file"), path });
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn others_may_read_what_is_written() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("ids");
        write(&path, b"").expect("it is written");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o600, 0o600, "{mode:o}");
        assert_eq!(mode & !0o777 & 0o7777, 0, "{mode:o}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_unfinished_file_has_no_name() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut unfinished = Replacement::of(&dir.path().join("ids")).expect("a started file");
        // Not every file system has such files; the one of the tests does where the system says so.
        if unnamed_in(dir.path()).is_some() {
            unfinished.file().write_all(b"something").expect("written");
            assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
        }
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
