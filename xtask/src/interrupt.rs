//! What has to go when the program is interrupted: destructors do not run then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, Once, PoisonError};

/// Files and folders that are not finished.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes a file or folder on Ctrl-C, termination or hang-up, for as long as this is held.
#[derive(Debug)]
pub(crate) struct RemovedOnInterrupt(PathBuf);

impl RemovedOnInterrupt {
    /// From now on.
    pub(crate) fn new(path: &Path) -> Self {
        static HANDLER: Once = Once::new();
        // Without a handler the program ends all the same, and leaves the file: nothing to give up for.
        HANDLER.call_once(|| drop(ctrlc::set_handler(end)));
        unfinished(|paths| paths.push(path.to_owned()));
        Self(path.to_owned())
    }
}

impl Drop for RemovedOnInterrupt {
    fn drop(&mut self) {
        unfinished(|paths| paths.retain(|path| *path != self.0));
    }
}

fn unfinished(change: impl FnOnce(&mut Vec<PathBuf>)) {
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner));
}

fn end() {
    unfinished(|paths| {
        for path in paths.drain(..) {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            if let Err(error) = removed {
                eprintln!("{}: {error}", path.display());
            }
        }
        // Still under the lock, so that nothing new is begun.
        process::exit(130);
    });
}
