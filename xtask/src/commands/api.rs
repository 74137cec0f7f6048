//! `xtask api`: the public items of each library crate, beside those that are stored.
//!
//! Whoever changes what others call sees it in the diff of `docs/api`. The compiler lists the items as JSON, an unstable option which
//! `RUSTC_BOOTSTRAP` allows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use public_api::Builder;

use crate::files;

/// The arguments of `api`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Store what there is
    #[arg(long)]
    bless: bool,
}

/// The crates that are published.
const CRATES: [&str; 8] = [
    "keepq-act",
    "keepq-blocks",
    "keepq-checkpoint",
    "keepq-dot",
    "keepq-gemm",
    "keepq-gguf",
    "keepq-simd",
    "keepq-tinygemm",
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    let mut changed = Vec::new();
    for name in CRATES {
        let found = items(root, &target, name)?;
        let path = path(root, name);
        if args.bless {
            fs::create_dir_all(path.parent().context("a folder of the workspace")?)?;
            files::write(&path, found.as_bytes())?;
        } else if fs::read_to_string(&path).with_context(|| path.display().to_string())? != found {
            files::print(&difference(name, &fs::read_to_string(&path)?, &found))?;
            changed.push(name);
        }
    }
    ensure!(changed.is_empty(), "the public items of {} are others than stored: `--bless`", changed.join(", "));
    Ok(())
}

/// The file of the stored items.
fn path(root: &Path, name: &str) -> PathBuf {
    root.join("docs/api").join(format!("{name}.txt"))
}

/// The items, a line each.
fn items(root: &Path, target: &Path, name: &str) -> Result<String> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args(["rustdoc", "--quiet", "--lib", "--all-features", "--package", name])
        .arg("--target-dir")
        .arg(target)
        .args(["--", "-Zunstable-options", "--output-format=json", "--cap-lints=allow"])
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cannot list the items of {name}: {}", said.lines().next().unwrap_or_default());
    }
    let json = target.join("doc").join(name.replace('-', "_") + ".json");
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("cannot read the items of {name}"))?;
    Ok(api.to_string())
}

/// The lines that one has and the other has not.
fn difference(name: &str, stored: &str, found: &str) -> String {
    let only = |sign: char, lines: &str, others: &str| {
        let others: std::collections::HashSet<_> = others.lines().collect();
        lines.lines().filter(|line| !others.contains(line)).map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    format!("{name}\n{}{}", only('-', stored, found), only('+', found, stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_has_the_lines_of_one_alone() {
        assert_eq!(difference("a", "x\ny\n", "y\nz\n"), "a\n- x\n+ z\n");
    }

    #[test]
    fn every_published_crate_is_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        for entry in fs::read_dir(root.join("crates")).expect("a folder") {
            let manifest = fs::read_to_string(entry.expect("an entry").path().join("Cargo.toml")).expect("a manifest");
            let is_published = !manifest.contains("publish = false");
            let name =
                manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).expect("a name");
            assert_eq!(CRATES.contains(&name), is_published, "{name}");
        }
    }
}
