//! The inputs that fuzz targets are kept with: each target has some, small ones.

use std::fs;
use std::path::Path;

use crate::support::names_in;

/// Bytes of the largest.
const LARGEST: u64 = 16 << 10;

/// Of all targets, so that a checkout stays light.
const MOST: usize = 400;

#[test]
fn every_target_has_seeds_and_none_is_left_over() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let mut targets = names_in(&fuzz.join("fuzz_targets"));
    targets.sort();
    let mut folders = names_in(&fuzz.join("seeds"));
    folders.sort();
    let named: Vec<_> = folders.iter().map(|folder| format!("{folder}.rs")).collect();
    assert_eq!(named, targets);

    let mut count = 0;
    for folder in folders {
        let folder = fuzz.join("seeds").join(folder);
        let seeds = names_in(&folder);
        assert!(seeds.len() >= 20, "{}: {} seeds", folder.display(), seeds.len());
        for seed in &seeds {
            let bytes = fs::metadata(folder.join(seed)).expect("a file").len();
            assert!(bytes <= LARGEST, "{}/{seed}: {bytes} bytes", folder.display());
        }
        count += seeds.len();
    }
    assert!(count <= MOST, "{count} seeds: `cargo +nightly fuzz cmin` keeps those that reach something");
}
