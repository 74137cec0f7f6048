//! [`Mutant`]: a change that breaks something, as the tables in `mutants/` list them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// The tables, one or more a crate, in the order in which the crates depend on each other.
const TABLES: [&str; 9] = [
    include_str!("mutants/blocks.toml"),
    include_str!("mutants/k_quants.toml"),
    include_str!("mutants/act.toml"),
    include_str!("mutants/dot.toml"),
    include_str!("mutants/octets.toml"),
    include_str!("mutants/tinygemm.toml"),
    include_str!("mutants/simd.toml"),
    include_str!("mutants/gemm.toml"),
    include_str!("mutants/gguf.toml"),
];

/// A change that breaks something.
#[derive(Debug, Serialize)]
pub(super) struct Mutant {
    /// `crate/part/what`.
    pub(super) name: String,
    /// A source file, or a folder of them, from the root of the workspace.
    pub(super) place: PathBuf,
    /// What is there, exactly once.
    pub(super) find: String,
    /// What takes its place.
    pub(super) replace: String,
    /// What is wrong then, in words.
    pub(super) breaks: String,
    /// Arguments of `cargo test`, the quickest test first: one of them fails.
    pub(super) tests: Vec<String>,
    /// Why no test can fail, where that is so.
    pub(super) equivalent: Option<String>,
}

/// A table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The folder of the crate under `crates/`.
    #[serde(rename = "crate")]
    krate: String,
    /// The tests of mutants that name none.
    tests: Vec<String>,
    mutants: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    /// Under the crate's `src`; all of it where there is none.
    file: Option<String>,
    find: String,
    replace: String,
    breaks: String,
    tests: Option<Vec<String>>,
    equivalent: Option<String>,
}

/// All mutants.
pub(super) fn mutants() -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for text in TABLES {
        let table: Table = toml::from_str(text).context("a table of mutants")?;
        let source = Path::new("crates").join(&table.krate).join("src");
        all.extend(table.mutants.into_iter().map(|row| Mutant {
            name: format!("{}/{}", table.krate, row.name),
            place: row.file.map_or_else(|| source.clone(), |file| source.join(file)),
            find: row.find,
            replace: row.replace,
            breaks: row.breaks,
            tests: row.tests.unwrap_or_else(|| table.tests.clone()),
            equivalent: row.equivalent,
        }));
    }
    Ok(all)
}

impl Mutant {
    /// The first part of the name.
    pub(super) fn krate(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The change to the workspace at `root`, not written yet.
    ///
    /// # Errors
    /// Where the text is not there exactly once.
    pub(super) fn apply(&self, root: &Path) -> Result<Change> {
        let mut hits = Vec::new();
        for path in rust_files(&root.join(&self.place)).with_context(|| self.name.clone())? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let count = text.matches(&self.find).count();
            hits.extend(std::iter::repeat_n((path, text), count));
        }
        let count = hits.len();
        let place = self.place.display();
        ensure!(count == 1, "{}: {:?} is there {count} times in {place}, not once", self.name, self.find);
        let (path, original) = hits.swap_remove(0);
        let mutated = original.replacen(&self.find, &self.replace, 1);
        ensure!(mutated != original, "{}: changes nothing", self.name);
        Ok(Change { path, original, mutated })
    }
}

/// A file with and without a mutant.
#[derive(Debug)]
pub(super) struct Change {
    path: PathBuf,
    original: String,
    mutated: String,
}

impl Change {
    pub(super) fn write(&self) -> Result<()> {
        self.set(&self.mutated)
    }

    pub(super) fn undo(&self) -> Result<()> {
        self.set(&self.original)
    }

    fn set(&self, text: &str) -> Result<()> {
        fs::write(&self.path, text).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// The file itself, or all below the folder.
fn rust_files(place: &Path) -> Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(place).with_context(|| place.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(rust_files(&path)?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use keepq_act::ActFormat;
    use keepq_blocks::{GgmlType, Matrix};

    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
    }

    #[test]
    fn every_mutant_applies_to_the_sources() {
        let errors: Vec<String> = mutants()
            .expect("tables")
            .iter()
            .filter_map(|mutant| mutant.apply(root()).err().map(|error| format!("{error:#}")))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    #[test]
    fn names_are_unique_and_every_mutant_has_tests() {
        let mutants = mutants().expect("tables");
        let names: HashSet<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names.len(), mutants.len());
        for mutant in &mutants {
            assert!(mutant.name.split('/').count() == 3 && !mutant.breaks.is_empty(), "{}", mutant.name);
            assert!(mutant.tests.iter().any(|test| test.starts_with("-p ")), "{}", mutant.name);
        }
    }

    #[test]
    fn every_type_has_mutants_in_its_decoder_encoder_and_kernel() {
        let mutants = mutants().expect("tables");
        let count = |krate: &str, ty: GgmlType| {
            let prefix = format!("{krate}/{}/", ty.name().to_ascii_lowercase());
            mutants.iter().filter(|mutant| mutant.name.starts_with(&prefix)).count()
        };
        for &ty in GgmlType::ALL {
            let decodes = Matrix::new(ty, 1, ty.block_len(), &vec![0; ty.block_bytes()]).is_ok();
            assert!(!decodes || count("blocks", ty) >= 2, "{ty} in blocks");
            let has_kernel_of_its_own = ActFormat::for_weights(ty).is_some_and(|format| format != ActFormat::F32);
            assert!(!has_kernel_of_its_own || count("dot", ty) >= 1, "{ty} in dot");
        }
        for ty in [GgmlType::Q8_1, GgmlType::Q8_K] {
            assert!(count("blocks", ty) >= 2, "{ty} in blocks");
        }
    }

    #[test]
    fn mutants_that_no_test_can_kill_are_explained() {
        let page = fs::read_to_string(root().join("docs/TESTING.md")).expect("the page");
        for mutant in mutants().expect("tables").iter().filter(|mutant| mutant.equivalent.is_some()) {
            assert!(page.contains(&format!("`{}`", mutant.name)), "{} is not on docs/TESTING.md", mutant.name);
        }
    }
}
