//! Counting: this program under `valgrind --tool=callgrind`, and what it writes.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use super::cases::{Case, Measured};
use super::counted::FUNCTION;
use crate::commands::bench::process;

/// Counts every case; none where there is no valgrind.
pub(super) fn measure() -> Result<Option<Vec<Measured>>> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let dump = folder.path().join("calls");
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--tool=callgrind"]);
    // Counting begins anew with each call, and each has a file of its own.
    command.args([format!("--zero-before={FUNCTION}"), format!("--dump-after={FUNCTION}")]);
    command.arg(format!("--callgrind-out-file={}", dump.display()));
    command.arg(std::env::current_exe().context("cannot find this program")?).arg("instructions-counted");
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        output => output.context("cannot start valgrind")?,
    };
    let Output { status, stdout, stderr } = output;
    if !status.success() {
        return Err(process::failure(status, &stderr)).context("valgrind");
    }
    let cases: Vec<Case> = serde_json::from_slice(&stdout).context("cannot read what was counted")?;
    let measured = (1..).zip(cases).map(|(number, case)| {
        // The first is a dump like the others: callgrind numbers them from 1.
        let count = read(&dump.with_extension(format!("{number}")))?;
        Ok(Measured { case, count })
    });
    let measured = measured.collect::<Result<Vec<_>>>()?;
    ensure!(!measured.is_empty(), "nothing was counted");
    Ok(Some(measured))
}

/// The instructions of one dump.
fn read(path: &Path) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    total(&text).with_context(|| format!("{}: no total of instructions", path.display()))
}

/// The number of the line `totals:`, where the events are instructions alone.
fn total(dump: &str) -> Option<u64> {
    let value = |key: &str| dump.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    (value("events:") == Some("Ir")).then(|| value("totals:")?.parse().ok())?.filter(|&count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_dump_is_its_instructions() {
        let dump = "version: 1\nevents: Ir\nfn=(1) f\n10 5\n\ntotals: 1234\n";
        assert_eq!(total(dump), Some(1234));
        assert_eq!(total(&dump.replace("Ir", "Ir Dr")), None);
        assert_eq!(total(&dump.replace("1234", "0")), None, "a function that was not found");
        assert_eq!(total("events: Ir\n"), None);
    }
}
