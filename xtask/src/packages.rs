//! Debian's packages, fetched by the machine's own apt from the mirror that it is set up with, and unpacked into a folder.
//!
//! apt works on files of its own in a temporary folder, so that neither the machine's sources nor what is installed changes, and
//! nobody needs to be root.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::interrupt::RemovedOnInterrupt;
use crate::progress::Progress;

/// Who signs it.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The folder that packages are unpacked into below the cache's, and which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packages {
    pub(crate) folder: &'static str,
    /// The release that they are of.
    pub(crate) release: &'static str,
    /// With all that they depend on.
    pub(crate) whole: &'static [&'static str],
    /// Without what they depend on: data, and what is run in other ways than Debian's.
    pub(crate) alone: &'static [&'static str],
    /// What stands for a package with a version in its name, which is fetched alone.
    pub(crate) named_by: &'static [&'static str],
}

/// Why there is no emulator, analyzer or compiler.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Packages {
    /// The folder with everything in it, fetched unless it is there.
    ///
    /// # Errors
    /// [`Missing`] where they cannot be had.
    pub(crate) fn unpacked(self, folder: &Path, progress: &Progress) -> Result<PathBuf> {
        let root = folder.join(self.folder);
        if !root.is_dir() {
            self.fetch(folder, &root, progress).map_err(|error| Missing(format!("{error:#}")))?;
        }
        Ok(root)
    }

    fn fetch(self, folder: &Path, root: &Path, progress: &Progress) -> Result<()> {
        let temporary =
            tempfile::tempdir_in(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
        let _interrupt = RemovedOnInterrupt::new(temporary.path());
        progress.say("asking apt for its lists");
        let apt = Apt::new(temporary.path(), self.release)?;
        progress.say(format!("fetching {}", [self.whole, self.alone, self.named_by].concat().join(", ")));
        let archives = apt.fetch(self)?;
        progress.say(format!("unpacking {} packages", archives.len()));
        let unfinished = temporary.path().join("root");
        for archive in &archives {
            run(Command::new("dpkg-deb").arg("--extract").arg(archive).arg(&unfinished))?;
        }
        fs::rename(&unfinished, root).with_context(|| format!("cannot make the folder {}", root.display()))
    }
}

/// A program among unpacked packages, run by their own loader with their own libraries: those of the machine may be older.
pub(crate) fn program(root: &Path, path: &str) -> Command {
    let mut command = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(root.join("usr/lib/x86_64-linux-gnu")).arg(root.join(path));
    command
}

/// The only file in `folder` whose name begins so.
pub(crate) fn only(folder: &Path, start: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found =
        entries.filter_map(Result::ok).filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let first = found.next().with_context(|| format!("there is no {start} in {}", folder.display()))?;
    ensure!(found.next().is_none(), "there are several of {start} in {}", folder.display());
    Ok(first.path())
}

/// apt with files of its own.
struct Apt {
    folder: PathBuf,
    release: &'static str,
}

impl Apt {
    /// Fetches the lists of a release.
    fn new(folder: &Path, release: &'static str) -> Result<Self> {
        let mirror = mirror()?;
        for part in ["lists/partial", "cache/archives/partial", "alone"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("sources.list"), format!("deb [signed-by={KEYS}] {mirror} {release} main\n"))?;
        let here = folder.display();
        fs::write(
            folder.join("apt.conf"),
            format!(
                "Dir::Etc::sourcelist \"{here}/sources.list\";\n\
                 Dir::Etc::sourceparts \"/dev/null\";\n\
                 Dir::State \"{here}\";\n\
                 Dir::State::lists \"{here}/lists\";\n\
                 Dir::State::status \"{here}/status\";\n\
                 Dir::Cache \"{here}/cache\";\n\
                 APT::Architectures {{\"amd64\";\"arm64\";}};\n\
                 APT::Sandbox::User \"\";\n\
                 APT::Install-Recommends \"false\";\n\
                 Acquire::Languages \"none\";\n"
            ),
        )?;
        let apt = Self { folder: folder.to_owned(), release };
        run(apt.command("apt-get").args(["update", "-qq"]))?;
        Ok(apt)
    }

    /// The archives of packages.
    fn fetch(&self, packages: Packages) -> Result<Vec<PathBuf>> {
        if !packages.whole.is_empty() {
            run(self.command("apt-get").args(["install", "-qq", "--yes", "--download-only"]).args(packages.whole))?;
        }
        let named = packages.named_by.iter().map(|name| self.named_by(name)).collect::<Result<Vec<_>>>()?;
        let alone: Vec<_> = packages.alone.iter().copied().chain(named.iter().map(String::as_str)).collect();
        if !alone.is_empty() {
            let folder = self.folder.join("alone");
            run(self.command("apt-get").args(["download", "-qq"]).args(alone).current_dir(folder))?;
        }
        let mut archives = Vec::new();
        for part in ["cache/archives", "alone"] {
            for entry in fs::read_dir(self.folder.join(part))? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "deb") {
                    archives.push(path);
                }
            }
        }
        archives.sort();
        Ok(archives)
    }

    /// The first package that `name` depends on.
    fn named_by(&self, name: &str) -> Result<String> {
        let output =
            self.command("apt-cache").args(["depends", name]).output().context("apt-cache cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let package = text.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
        package.map(str::to_owned).with_context(|| format!("{} has no package behind {name}", self.release))
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("APT_CONFIG", self.folder.join("apt.conf")).env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

/// Where the machine's apt fetches its own release from.
fn mirror() -> Result<String> {
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let (true, Some(release)) = (system.lines().any(|line| line == "ID=debian"), release) else {
        bail!("this comes from Debian's packages, and this system is not Debian");
    };
    ensure!(Path::new(KEYS).exists(), "there is no {KEYS}, by which Debian's packages are known");
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", &format!("Release: {release}")]);
    let output = apt.output().context("apt-get, which fetches the emulators, cannot be started")?;
    let uris = String::from_utf8_lossy(&output.stdout).into_owned();
    uris.lines().next().map(str::to_owned).with_context(|| format!("apt-get knows no mirror of {release}"))
}

/// Runs a command; what it said, on one line, where it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = said.iter().find(|line| line.starts_with("E:") || line.starts_with("error")).or(said.last());
    ensure!(output.status.success(), "{name}: {}: {}", output.status, shown.unwrap_or(&""));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_one_line() {
        let error = run(Command::new("sh").args(["-c", "echo one >&2; echo 'E: two' >&2; echo three >&2; exit 3"]));
        assert_eq!(error.expect_err("it fails").to_string(), "sh: exit status: 3: E: two");
        let error = run(&mut Command::new("/no/such/program")).expect_err("it is not there");
        assert_eq!(error.to_string(), "/no/such/program cannot be started");
    }

    #[test]
    fn the_only_file_is_found_by_its_start() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("vmlinuz-6"), "").expect("written");
        assert_eq!(only(dir.path(), "vmlinuz-").expect("one"), dir.path().join("vmlinuz-6"));
        assert!(only(dir.path(), "initrd").is_err());
        fs::write(dir.path().join("vmlinuz-7"), "").expect("written");
        assert!(only(dir.path(), "vmlinuz-").is_err());
    }
}
