//! What the fuzz target `encode` does with an input, over the inputs that are kept and bytes of a generator.

mod coding;

use std::fs;
use std::path::Path;

use keepq_goldens::inputs::Random;

#[test]
fn inputs_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/encode");
    let inputs = fs::read_dir(folder).expect("a folder");
    let count = inputs.map(|input| coding::check(&fs::read(input.expect("an entry").path()).expect("a file"))).count();
    assert!(count >= 20, "{count} inputs");
}

#[test]
fn bytes_of_a_generator() {
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..2048).map(|_| random.bits() as u8).collect();
        coding::check(&bytes);
    }
}
