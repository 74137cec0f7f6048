//! What comes into the build: a table of all dependencies with the reason for each, out of the manifests, and the oldest compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use toml::Table;

/// A dependency as the table shows it.
#[derive(Default)]
struct Dependency {
    /// Crates that use it, those whose tests alone do in parentheses.
    users: BTreeSet<String>,
    /// Comments above it.
    reasons: BTreeSet<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The manifests of the workspace's members.
fn manifests() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<_> = crates.chain(["goldens", "xtask", "benches"].map(|name| root().join(name))).collect();
    folders.sort();
    folders.iter().map(|folder| read(&folder.join("Cargo.toml"))).collect()
}

/// Adds what a manifest depends on.
///
/// A comment is the reason of the line below it.
fn add(manifest: &str, all: &mut BTreeMap<String, Dependency>) {
    let user = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).expect("a name");
    let (mut section, mut reason) = ("", String::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        if let Some(comment) = line.strip_prefix('#') {
            reason = (reason + comment).trim().to_owned();
            continue;
        }
        if let Some((name, _)) = line.split_once(['.', ' ']).filter(|_| section.contains("dependencies]"))
            && !name.starts_with("keepq-")
        {
            let dependency = all.entry(name.to_owned()).or_default();
            let is_dev = section.contains("dev-dependencies");
            dependency.users.insert(if is_dev { format!("({user})") } else { user.to_owned() });
            dependency.reasons.extend((!reason.is_empty()).then(|| reason.clone()));
        }
        reason.clear();
    }
}

/// The dependencies of libraries that are published, then the others.
fn table(all: &BTreeMap<String, Dependency>, workspace: &Table) -> String {
    let published =
        ["act", "blocks", "checkpoint", "dot", "gemm", "gguf", "simd", "tinygemm"].map(|name| format!("keepq-{name}"));
    let is_published = |dependency: &Dependency| published.iter().any(|name| dependency.users.contains(name));
    let row = |(name, dependency): (&String, &Dependency)| {
        let entry = workspace["workspace"]["dependencies"].get(name);
        let entry = entry.unwrap_or_else(|| panic!("{name}: not among the workspace's dependencies"));
        let version = entry.as_str().or_else(|| entry["version"].as_str()).expect("a version");
        let without_default = entry.get("default-features").is_some_and(|default| default.as_bool() == Some(false));
        let mut features = Vec::from_iter(without_default.then(|| "no default".to_owned()));
        for feature in entry.get("features").and_then(|features| features.as_array()).into_iter().flatten() {
            features.push(feature.as_str().expect("a name").to_owned());
        }
        let join = |texts: &BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>().join(" ");
        let users = join(&dependency.users).replace(' ', ", ");
        assert!(!dependency.reasons.is_empty(), "{name}: no manifest says what it is for");
        format!("| {name} {version} | {} | {users} | {} |\n", features.join(", "), join(&dependency.reasons))
    };
    let head = "| crate | features | used by | for |\n|---|---|---|---|\n";
    let rows =
        |wanted: bool| all.iter().filter(|(_, entry)| is_published(entry) == wanted).map(row).collect::<String>();
    format!(
        "# Dependencies\n\nMade from the comments in the manifests, and compared with them by a test (`INSTA_UPDATE=always` writes it \
         anew). Tests\nalone use what is in parentheses. `deny.toml` says which licences, versions and sources may come in.\n\n\
         ## Of the published crates\n\n{head}{}\n## Of the commands, the tests and the benches\n\n{head}{}",
        rows(true),
        rows(false)
    )
}

#[test]
fn every_dependency_has_a_reason_in_the_table() {
    let workspace: Table = read(&root().join("Cargo.toml")).parse().expect("a manifest");
    let mut all = BTreeMap::new();
    manifests().iter().for_each(|manifest| add(manifest, &mut all));
    let listed = workspace["workspace"]["dependencies"].as_table().expect("a table");
    let unused: Vec<_> = listed.keys().filter(|name| !name.starts_with("keepq-") && !all.contains_key(*name)).collect();
    assert!(unused.is_empty(), "in no manifest: {unused:?}");

    let (path, text) = (root().join("docs/DEPENDENCIES.md"), table(&all, &workspace));
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::write(&path, &text).expect("a written file");
    }
    assert!(read(&path) == text, "docs/DEPENDENCIES.md is not what the manifests say");
}

/// All tests run with the pinned compiler: that it is the oldest which the manifests promise is what makes the promise checked.
#[test]
fn the_compiler_in_use_is_the_oldest_that_is_promised() {
    let workspace: Table = read(&root().join("Cargo.toml")).parse().expect("a manifest");
    let toolchain: Table = read(&root().join("rust-toolchain.toml")).parse().expect("a toolchain");
    let promised = workspace["workspace"]["package"]["rust-version"].as_str().expect("a version");
    let in_use = toolchain["toolchain"]["channel"].as_str().expect("a version");
    assert!(in_use.strip_prefix(promised).is_some_and(|patch| patch.starts_with('.')), "{in_use} is not {promised}");
    for manifest in manifests() {
        assert!(manifest.contains("\nrust-version.workspace = true\n"), "{manifest}");
    }
}
