//! What the fuzz target `tokenizer` does with an input, over the inputs that are kept.

use std::fs;
use std::path::Path;

use arbitrary::{Arbitrary as _, Unstructured};

use crate::made::MadeVocabulary;

#[test]
fn inputs_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/tokenizer");
    let inputs = fs::read_dir(folder).expect("a folder").map(|input| {
        let bytes = fs::read(input.expect("an entry").path()).expect("a file");
        MadeVocabulary::arbitrary_take_rest(Unstructured::new(&bytes)).iter().for_each(MadeVocabulary::check);
    });
    let count = inputs.count();
    assert!(count >= 20, "{count} inputs");
}
