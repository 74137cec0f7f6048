//! The same by llama.cpp's own library, and what it makes of the files.
//!
//! They need its libraries: the variable `KEEPQ_LLAMA` names the folder.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_gguf::{Gguf, Source};
use serde_json::json;

use super::shapes::write_shapes;
use super::{TYPES, logits, quantize};
use crate::support::{llama_libraries, printed, split, synthetic, temporary_folder, xtask};

/// Prints past the test runner, which keeps to itself what a test that passes prints.
fn say(what: std::fmt::Arguments<'_>) {
    writeln!(std::io::stdout(), "quantize by llama.cpp: {what}").expect("stdout");
}

/// Has llama.cpp quantize a file.
fn quantize_by_llama(libraries: &Path, from: &Path, ty: &str, out: &Path) {
    let mut command = xtask(["llama-quantize", "--type", ty]);
    printed(command.arg("--oracle").arg(libraries).arg("--from").arg(from).arg("--out").arg(out));
}

#[test]
fn files_are_those_of_llama_cpp_to_the_last_byte() {
    let Some(libraries) = llama_libraries() else { return };
    let dir = temporary_folder();
    let [ours, theirs] = ["ours", "theirs"].map(|name| dir.path().join(name));
    for (name, ..) in TYPES {
        printed(&mut quantize(synthetic(), name, &ours));
        quantize_by_llama(&libraries, synthetic(), name, &theirs);
        assert!(fs::read(&ours).expect("a file") == fs::read(&theirs).expect("a file"), "{name}");
    }
    say(format_args!("the synthetic model is the same file in {} types", TYPES.len()));
}

#[test]
fn a_set_of_files_becomes_the_file_that_llama_cpp_makes_of_it() {
    let Some(libraries) = llama_libraries() else { return };
    let dir = temporary_folder();
    let [first, ..] = split(dir.path());
    let [ours, theirs] = ["ours", "theirs"].map(|name| dir.path().join(name));
    printed(&mut quantize(&first, "Q5_K", &ours));
    quantize_by_llama(&libraries, &first, "Q5_K", &theirs);
    assert!(fs::read(&ours).expect("a file") == fs::read(&theirs).expect("a file"));
}

/// Shapes that models seldom have, sources of all types, names that are kept: equal but for trailing dimensions of 1, which
/// llama.cpp drops.
#[test]
fn tensors_of_all_shapes_and_names_are_those_of_llama_cpp() {
    let Some(libraries) = llama_libraries() else { return };
    let dir = temporary_folder();
    let [source, ours, theirs] = ["source", "ours", "theirs"].map(|name| dir.path().join(name));
    write_shapes(&source);
    for (name, ..) in TYPES {
        printed(&mut quantize(&source, name, &ours));
        quantize_by_llama(&libraries, &source, name, &theirs);
        let [ours, theirs] = [&ours, &theirs].map(|path| Source::map(path).expect("a file"));
        let [ours, theirs] = [&ours, &theirs].map(|source| source.parse().expect("a GGUF file"));
        assert!(ours.metadata().eq(theirs.metadata()), "{name}");
        let tensors = assert_tensors(name, &ours, &theirs);
        assert!(tensors > 30, "{tensors}");
    }
}

/// Compares all tensors, and gives their number.
fn assert_tensors(what: &str, ours: &Gguf<'_>, theirs: &Gguf<'_>) -> usize {
    assert_eq!(ours.tensors().len(), theirs.tensors().len(), "{what}");
    for (ours, theirs) in ours.tensors().iter().zip(theirs.tensors()) {
        assert_eq!((ours.name(), ours.ty()), (theirs.name(), theirs.ty()), "{what}");
        let [dims, their_dims] = [ours, theirs].map(|tensor| tensor.dims());
        let trailing = dims.strip_prefix(their_dims).expect("the same dimensions");
        assert!(trailing.iter().all(|&dim| dim == 1), "{what}: {}: {dims:?}", ours.name());
        let same = ours.data().expect("its bytes") == theirs.data().expect("its bytes");
        assert!(same, "{what}: {}", ours.name());
    }
    ours.tensors().len()
}

/// llama.cpp's builds that are compared with each other: how far they are apart excuses another first choice.
const BUILDS: [&str; 2] = ["x64", "haswell"];

/// What the models read: hundreds of positions, so that the builds show how far they are apart.
fn text() -> &'static str {
    include_str!("../../../src/commands/bench/prompt.txt").lines().next().expect("a first paragraph")
}

#[test]
fn llama_cpp_loads_the_files_and_its_first_choices_are_ours() {
    let Some(libraries) = llama_libraries() else { return };
    let dir = temporary_folder();
    let [model, tokens, out] = ["model.gguf", "tokens.json", "logits"].map(|name| dir.path().join(name));
    let ids = write_tokens(&tokens);
    for (name, ..) in TYPES {
        printed(&mut quantize(synthetic(), name, &model));
        let theirs = BUILDS.map(|build| {
            let mut command = xtask(["forced-logits", "--prompt=0", "--variant", build]);
            command.arg("--model").arg(&model).arg("--oracle").arg(&libraries).arg("--tokens").arg(&tokens);
            printed(command.arg("--out").arg(&out));
            read_logits(&out)
        });
        let choices = Choices::compare(&logits(&model, &ids), &theirs, ids.len());
        say(format_args!("{name}: {choices}"));
        assert!(choices.largest_other_lead <= choices.builds_apart, "{name}: {choices}");
    }
}

/// Writes the text as a token oracle, and gives all its ids.
fn write_tokens(path: &Path) -> Vec<u32> {
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let mut ids = Tokenizer::from_gguf(&gguf).expect("a tokenizer").encode(text(), Special::Parse).expect("ids");
    // A prompt is followed by one id at least.
    let next = 9;
    let oracle = json!({
        "model": "synthetic", "sha256": null, "produced_by": "this test", "two_builds": null,
        "prompts": [{
            "prompt": text(), "prompt_ids": ids, "greedy_ids": [next],
            "top5": [[[next, 1.0], [1, 0.0], [2, 0.0], [3, 0.0], [4, 0.0]]], "min_margin": 1.0,
        }],
    });
    fs::write(path, oracle.to_string()).expect("a written file");
    ids.push(next);
    ids
}

/// The second of the two blocks in a file of logits: all ids as one batch.
fn read_logits(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).expect("a file");
    let whole = &bytes[bytes.len() / 2..];
    whole.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// First choices, compared with those of llama.cpp's first build.
#[derive(Default)]
struct Choices {
    positions: usize,
    equal: usize,
    /// The largest lead of a first choice of llama.cpp's that is not ours.
    largest_other_lead: f32,
    /// The largest change of a lead from one of its builds to the other.
    builds_apart: f32,
}

impl Choices {
    fn compare(ours: &[f32], theirs: &[Vec<f32>; 2], positions: usize) -> Self {
        let vocabulary = ours.len() / positions;
        let [a, b] = theirs.each_ref().map(|logits| logits.chunks_exact(vocabulary));
        let mut choices = Self { positions, ..Self::default() };
        for ((ours, a), b) in ours.chunks_exact(vocabulary).zip(a).zip(b) {
            let [first, second] = first_two(a);
            let lead = |logits: &[f32]| logits[first] - logits[second];
            choices.builds_apart = choices.builds_apart.max((lead(a) - lead(b)).abs());
            if first_two(ours)[0] == first {
                choices.equal += 1;
            } else {
                choices.largest_other_lead = choices.largest_other_lead.max(lead(a));
            }
        }
        choices
    }
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { positions, equal, largest_other_lead, builds_apart } = self;
        write!(
            f,
            "{equal} of {positions} first choices are ours, another leads by {largest_other_lead:.4} at most, \
             leads differ by up to {builds_apart:.4} between its builds"
        )
    }
}

/// The ids of the two highest logits.
fn first_two(logits: &[f32]) -> [usize; 2] {
    let mut ids: Vec<usize> = (0..logits.len()).collect();
    ids.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    [ids[0], ids[1]]
}
