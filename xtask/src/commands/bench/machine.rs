//! [`Machine`]: what a bench ran on, and whether anything else ran too.

use std::fs;
use std::path::Path;

use keepq_goldens::Output;
use serde::Serialize;

/// The machine before a bench and after it.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) cpu: String,
    /// Threads that it runs at a time.
    pub(super) cores: usize,
    /// Processes that wanted to run in the last minute, before and after; none where the system does not tell.
    pub(super) load_average: [Option<f64>; 2],
    /// The MD5 of goldens/MD5SUMS before and after: the numbers that the kernels are held to.
    pub(super) goldens_md5: [Option<String>; 2],
}

impl Machine {
    /// The machine as it is before a bench.
    pub(super) fn now() -> Self {
        Self {
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load_average: [load_average(), None],
            goldens_md5: [goldens_md5(), None],
        }
    }

    /// Adds what it is after the bench.
    pub(super) fn and_after(mut self) -> Self {
        self.load_average[1] = load_average();
        self.goldens_md5[1] = goldens_md5();
        self
    }
}

/// The model of the CPU as Linux knows it, else the architecture.
fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = info.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "model name");
    named.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

fn goldens_md5() -> Option<String> {
    let sums = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("goldens").join("MD5SUMS");
    fs::read(sums).ok().map(|bytes| Output::of_bytes(bytes).md5())
}
