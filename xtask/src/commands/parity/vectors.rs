//! `xtask parity --tinygemm-vectors DIR`: what others packed and multiplied in the 4-bit formats, by every tier.
//!
//! `index.json` tells of int4pack: codes, the bytes of PyTorch's three packers, and what its operators made of them. `w4a8_derived.json` tells
//! of W4A8: records and results that a model of PyTorch's source made. Each array is checked against the index, by its shape, type
//! and SHA-256, before anything is computed.

mod arrays;
mod int4pack;
mod w4a8;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use keepq_gemm::{Executor, executor_from_env};
use keepq_simd::Tier;
use serde::de::DeserializeOwned;

use super::table::Table;

/// The indexes that a folder may have.
const INDEXES: [&str; 2] = ["index.json", "w4a8_derived.json"];

/// A file of vectors, or what is told of one that is not stored.
struct Case {
    name: String,
    /// The SHA-256 of the file; none where there is none.
    sha256: Option<String>,
    vectors: Option<Box<dyn Vectors>>,
}

/// What a case can be asked.
trait Vectors {
    /// Which bytes and codes are not those that are stored.
    fn packing(&self) -> Result<Vec<String>>;

    /// Which products are not.
    fn products(&self, tier: Tier, executor: &dyn Executor) -> Result<Vec<String>>;
}

/// Runs all cases of a folder.
pub(super) fn run(folder: &Path, threads: &[usize], json: bool) -> Result<()> {
    ensure!(
        INDEXES.iter().any(|index| folder.join(index).is_file()),
        "{}: no folder of vectors: it has neither {}",
        folder.display(),
        INDEXES.join(" nor ")
    );
    let [int4pack, w4a8] = INDEXES.map(|index| folder.join(index));
    let mut cases = Vec::new();
    if int4pack.is_file() {
        cases.extend(int4pack::cases(folder, read_json(&int4pack)?)?);
    }
    if w4a8.is_file() {
        cases.extend(w4a8::cases(folder, read_json(&w4a8)?)?);
    }
    ensure!(!cases.is_empty(), "{}: its index tells of no cases", folder.display());

    // What is no such matrix is refused before anything is printed.
    let packing = |case: &Case| case.vectors.as_ref().map_or_else(|| Ok(Vec::new()), |vectors| vectors.packing());
    let packings = cases.iter().map(|case| packing(case).with_context(|| case.name.clone()));
    let packings = packings.collect::<Result<Vec<_>>>()?;
    let tiers = Tier::available();
    let executors = threads.iter().map(|&threads| executor_from_env(threads)).collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::new(json, &tiers, cases.iter().map(|case| case.name.as_str()));
    table.head()?;
    for (case, differences) in cases.iter().zip(packings) {
        let (Some(vectors), Some(sha256)) = (&case.vectors, &case.sha256) else {
            table.skip(&case.name, "not run: its arrays are not stored, only their sums")?;
            continue;
        };
        for difference in differences {
            table.fail(&case.name, &difference)?;
        }
        let mut results = Vec::new();
        for &tier in &tiers {
            let mut failed = Vec::new();
            for (threads, executor) in threads.iter().zip(&executors) {
                let products = vectors.products(tier, &**executor).with_context(|| case.name.clone())?;
                failed.extend(products.into_iter().map(|product| format!("{product}/t{threads}")));
            }
            results.push(failed);
        }
        table.row(&case.name, sha256, &results)?;
    }
    table.finish(cases.iter().filter(|case| case.vectors.is_some()).count(), threads)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let describe = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(describe)?;
    serde_json::from_str(&text).with_context(describe)
}
