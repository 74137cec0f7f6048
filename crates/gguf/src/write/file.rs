//! Replaces a file as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::WriteError;

/// Names tried for the new file: each failed process of the same id may have left one.
const TRIES: u32 = 100;

/// Has `write` write a new file beside `path`, brings it to the disk and puts it in the place of `path`.
pub(super) fn replace(path: &Path, write: impl FnOnce(&File) -> Result<u64, WriteError>) -> Result<u64, WriteError> {
    let at_path = |error| WriteError::File { path: path.into(), error };
    // Renaming would put a file in the place of a device, and fail at a directory only after all the work.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(at_path(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let partial = Partial::create(path).map_err(at_path)?;
    let len = match write(&partial.file) {
        // The output is the file: say which.
        Err(WriteError::Io(error)) => return Err(at_path(error)),
        result => result?,
    };
    partial.finish(path).map_err(at_path)?;
    Ok(len)
}

/// A new file that is removed again unless it is finished.
struct Partial {
    path: PathBuf,
    file: File,
    finished: bool,
}

impl Partial {
    fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        for number in 0..TRIES {
            let mut partial = OsString::from(".");
            partial.push(name);
            partial.push(format!(".{}-{number}.partial", std::process::id()));
            let path = target.with_file_name(partial);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file, finished: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn finish(mut self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        self.finished = true;
        // That the new name is on the disk too; the file is whole without it, and not all systems can.
        #[cfg(unix)]
        if let Some(folder) = target.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing better can be done where this fails too.
            let _ = fs::remove_file(&self.path);
        }
    }
}
