//! Any bytes are weights: every tier makes the same of them, whatever the activations are. The fuzz target `matmul` asks the same of
//! bytes that are looked for; here they are those that it kept, and a generator's.

mod problem;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keepq_goldens::inputs::Random;
use keepq_goldens::is_quick;
use keepq_goldens::naive::TYPES;
use problem::Problem;

/// Cases, of which every type gets some twenty; an emulator has time for half of them.
const CASES: u64 = 260;

/// Bytes from which a case is made; where it needs more they repeat, changed.
const BYTES: usize = 4096;

#[test]
fn tiers_agree() {
    let mut types = BTreeSet::new();
    let (mut finite, mut not_finite) = (0, 0);
    let cases = if is_quick() { CASES / 2 } else { CASES };
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..BYTES).map(|_| random.bits() as u8).collect();
        let problem = Problem::read(&bytes).expect("enough bytes");
        types.insert(problem.ty.name());
        for value in problem.check() {
            *(if value.is_finite() { &mut finite } else { &mut not_finite }) += 1;
        }
    }
    assert_eq!(types.len(), TYPES.len(), "{types:?}");
    // Products of NaN alone would agree whatever kernels do.
    assert!(finite > 40 * cases && not_finite > 4 * cases, "{finite} finite outputs, {not_finite} others");
}

#[test]
fn inputs_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/matmul");
    let inputs = fs::read_dir(folder).expect("a folder").map(|input| {
        let bytes = fs::read(input.expect("an entry").path()).expect("a file");
        Problem::read(&bytes).expect("enough bytes").check();
    });
    let count = inputs.count();
    assert!(count >= 20, "{count} inputs");
}

#[test]
fn too_few_bytes_are_no_case() {
    assert!(Problem::read(&[]).is_none());
    assert!(Problem::read(&[7; 6]).is_none());
    assert!(Problem::read(&[7; 7]).is_some());
}
