//! [`ProcessorTime`]: how long the threads of this process ran, and how long they waited for a processor to run on.
//!
//! A thread that has nothing to do asks for nothing, so that this is fair to decoders whose threads sleep between two steps as to
//! those whose threads spin; and a process that has the machine for itself gets all it asks for, on any number of threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A run that got less than this share of the processor time that it asked for says more of others than of itself.
pub(super) const ENOUGH: f64 = 0.97;

/// Nanoseconds of each thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProcessorTime(BTreeMap<u32, Thread>);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Thread {
    running: u64,
    waiting: u64,
}

impl ProcessorTime {
    /// Of all threads that there are, as Linux counts it; none where the system does not.
    pub(super) fn now() -> Option<Self> {
        Self::read(Path::new("/proc/self/task"))
    }

    fn read(tasks: &Path) -> Option<Self> {
        let mut threads = BTreeMap::new();
        for task in fs::read_dir(tasks).ok()? {
            let task = task.ok()?;
            let id = task.file_name().to_str()?.parse().ok()?;
            // A thread may have ended meanwhile.
            if let Ok(text) = fs::read_to_string(task.path().join("schedstat")) {
                threads.insert(id, parse(&text)?);
            }
        }
        (!threads.is_empty()).then_some(Self(threads))
    }

    /// The share of the processor time asked for since `earlier` that was got: the time running, by that and the time waiting.
    /// None where none was asked for.
    pub(super) fn share_since(&self, earlier: &Self) -> Option<f64> {
        let (mut running, mut waiting) = (0, 0);
        for (id, now) in &self.0 {
            let then = earlier.0.get(id).copied().unwrap_or_default();
            running += now.running.saturating_sub(then.running);
            waiting += now.waiting.saturating_sub(then.waiting);
        }
        let asked = running + waiting;
        (asked > 0).then(|| running as f64 / asked as f64)
    }
}

/// `schedstat`: nanoseconds running, nanoseconds waiting, and how often it ran.
fn parse(schedstat: &str) -> Option<Thread> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    Some(Thread { running: numbers.next()?.ok()?, waiting: numbers.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(threads: &[(u32, u64, u64)]) -> ProcessorTime {
        ProcessorTime(threads.iter().map(|&(id, running, waiting)| (id, Thread { running, waiting })).collect())
    }

    #[test]
    fn the_share_is_of_what_all_threads_asked_for_since() {
        let earlier = time(&[(1, 1000, 500), (2, 50, 0)]);
        let now = time(&[(1, 1600, 550), (2, 50, 0), (3, 300, 50)]);
        assert_eq!(now.share_since(&earlier), Some(0.9));
        assert_eq!(now.share_since(&now), None);
    }

    #[test]
    fn threads_are_read_from_their_folders() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (id, text) in [("7", Some("1200 34 5\n")), ("8", Some("6 0 1\n")), ("9", None)] {
            fs::create_dir(dir.path().join(id)).expect("a folder");
            if let Some(text) = text {
                fs::write(dir.path().join(id).join("schedstat"), text).expect("a written file");
            }
        }
        assert_eq!(ProcessorTime::read(dir.path()), Some(time(&[(7, 1200, 34), (8, 6, 0)])));
        assert_eq!(ProcessorTime::read(&dir.path().join("none")), None);
    }
}
