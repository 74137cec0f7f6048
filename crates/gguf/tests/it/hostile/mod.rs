//! Files that are damaged or made to harm, as one table: what the parser's tests, the command line's and the fuzzer's first inputs
//! are made of.

mod metadata;
pub(crate) mod raw;
mod start;
mod tensors;

use raw::Raw;

/// A class of damage and the files that show it.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

fn class(name: &'static str, files: impl IntoIterator<Item = (&'static str, Raw)>) -> Class {
    Class { name, files: files.into_iter().map(|(what, file)| (what, file.0)).collect() }
}

/// All classes, none of whose files opens.
pub(crate) fn classes() -> impl Iterator<Item = Class> {
    let start = start::start_of_file().into_iter().chain(start::counts_and_lengths());
    start.chain(metadata::values()).chain(tensors::shapes()).chain(tensors::data_and_names())
}
