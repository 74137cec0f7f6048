//! What the fuzz targets of this crate do with an input, over the inputs that are kept: seeds that are the table of damaged files,
//! and those that a fuzzer found new paths with.

pub(crate) mod made;
pub(crate) mod set;

use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary, Unstructured};
use keepq_gguf::Gguf;

use crate::hostile::classes;
use crate::walk::walk;
use made::Made;
use set::MadeSet;

/// The inputs of a target.
fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Does something with every input of a target, and gives their number.
fn replay(target: &str, run: impl Fn(&[u8])) -> usize {
    let inputs = fs::read_dir(corpus(target)).expect("a corpus");
    inputs.map(|input| run(&fs::read(input.expect("an entry").path()).expect("a file"))).count()
}

/// An input as the fuzzer hands it to a target that takes a structure.
fn structure<'b, T: Arbitrary<'b>>(bytes: &'b [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}

#[test]
fn any_bytes() {
    let inputs = replay("gguf_parse", |bytes| {
        if let Ok(gguf) = Gguf::parse(bytes) {
            walk(&gguf);
        }
    });
    assert!(inputs >= 20, "{inputs} inputs");
}

#[test]
fn files_made_of_fields() {
    let inputs = replay("gguf_made", |bytes| structure::<Made<'_>>(bytes).iter().for_each(Made::check));
    assert!(inputs >= 20, "{inputs} inputs");
}

#[test]
fn sets_made_of_files() {
    let inputs = replay("split_set", |bytes| structure::<MadeSet<'_>>(bytes).iter().for_each(MadeSet::check));
    assert!(inputs >= 20, "{inputs} inputs");
}

/// Bytes of the largest seed.
const LARGEST: usize = 16 << 10;

/// The seeds are the damaged files of the table: `INSTA_UPDATE=always` writes those that it lacks.
#[test]
fn damaged_files_are_seeds() {
    let folder = corpus("gguf_parse");
    for class in classes() {
        for (what, file) in class.files.iter().filter(|(_, file)| file.len() <= LARGEST) {
            let name = format!("{} {what}", class.name).replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
            let path = folder.join(&name);
            if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, file).unwrap();
            }
            assert!(fs::read(&path).is_ok_and(|seed| seed == *file), "{} is not the file of the table", path.display());
        }
    }
}
