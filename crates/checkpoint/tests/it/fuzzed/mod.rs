//! What the fuzz target `checkpoint` does with an input, over the inputs that are kept.

mod made;

use std::fs;
use std::path::Path;

use arbitrary::{Arbitrary as _, Unstructured};
use made::MadeCheckpoint;

#[test]
fn inputs_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/checkpoint");
    let inputs = fs::read_dir(folder).expect("a folder").map(|input| {
        let bytes = fs::read(input.expect("an entry").path()).expect("a file");
        MadeCheckpoint::arbitrary_take_rest(Unstructured::new(&bytes)).iter().for_each(MadeCheckpoint::check);
    });
    let count = inputs.count();
    assert!(count >= 20, "{count} inputs");
}
