//! Files that open, and are no model that runs: what asks for more than a file holds refuses it in one line that says why.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Gguf, Source};

use crate::hostile::raw::{Raw, value};
use crate::support::{names_in, printed, refusal, synthetic, temporary_folder, xtask};

/// What `generate` says of a file, without its folder; `inspect` lists the file all the same.
fn refused(path: &Path) -> String {
    let listed = printed(xtask(["inspect"]).arg(path));
    assert!(listed.contains(" bytes"), "{listed}");
    let line = refusal(xtask(["generate", "--prompt=a", "--model"]).arg(path));
    assert!(!line.chars().any(char::is_control) && line.len() < 500, "{line}");
    line.replace(&path.with_file_name("").display().to_string(), "")
}

/// Writes the synthetic model without one key, for which `put` may put another.
fn without_key(path: &Path, key: &str, put: impl FnOnce(&mut Writer<'_>)) {
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    assert!(gguf.value(key).is_some(), "{key}");
    let mut writer = Writer::new();
    for (name, value) in gguf.metadata().filter(|(name, _)| *name != key) {
        writer.put(name, value).expect("a key");
    }
    put(&mut writer);
    tensors(&gguf, &mut writer);
    writer.write_file(path).expect("a written file");
}

fn tensors<'d>(gguf: &Gguf<'d>, writer: &mut Writer<'d>) {
    for tensor in gguf.tensors() {
        let (ty, data) = (tensor.ty().expect("a known type"), tensor.data().expect("its bytes"));
        writer.tensor(tensor.name(), ty, tensor.dims(), data).expect("a tensor");
    }
}

/// The texts of the synthetic model's tokens.
fn tokens() -> Vec<String> {
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let tokens = gguf.require::<keepq_gguf::Items<'_, &str>>("tokenizer.ggml.tokens").expect("tokens");
    tokens.map(str::to_owned).collect()
}

#[test]
fn vocabularies_that_do_not_fit() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    let tokens = tokens();
    let more = [&tokens[..], &["one more".to_owned()]].concat();
    let twice = [&tokens[..tokens.len() - 1], &tokens[..1]].concat();
    let mut lines = String::new();
    let mut say = |what: &str, key: &str, put: &dyn Fn(&mut Writer<'_>, &str)| {
        let key = format!("tokenizer.ggml.{key}");
        without_key(&path, &key, |writer| put(writer, &key));
        writeln!(lines, "{what}: {}", refused(&path)).expect("memory");
    };
    say("no tokens", "tokens", &|_, _| ());
    say("tokens that are numbers", "tokens", &|writer, key| writer.put(key, [1_u32, 2]).expect("a key"));
    say("a token less than rows", "tokens", &|writer, key| writer.put(key, &tokens[1..]).expect("a key"));
    say("a token more than rows", "tokens", &|writer, key| writer.put(key, more.as_slice()).expect("a key"));
    say("a token twice", "tokens", &|writer, key| writer.put(key, twice.as_slice()).expect("a key"));
    say("a type for three tokens", "token_type", &|writer, key| writer.put(key, [1_i32; 3]).expect("a key"));
    say("types that are text", "token_type", &|writer, key| writer.put(key, "1").expect("a key"));
    say("no merges", "merges", &|_, _| ());
    say("merges that are numbers", "merges", &|writer, key| writer.put(key, [0.5_f32]).expect("a key"));
    say("an id that is text", "eos_token_id", &|writer, key| writer.put(key, "2").expect("a key"));
    say("an id beyond the tokens", "eos_token_id", &|writer, key| writer.put(key, 320_u32).expect("a key"));
    say("a kind that is a number", "model", &|writer, key| writer.put(key, 1_u8).expect("a key"));
    insta::assert_snapshot!(lines);
}

#[test]
fn types_that_have_no_kernel() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    fs::copy(synthetic(), &path).expect("a copy");
    let whole = fs::read(&path).expect("a file");
    // The id stands behind the name, the number of dimensions, and two of these.
    let name = b"blk.0.ffn_up.weight";
    let at = whole.windows(name.len()).position(|window| window == name).expect("the name") + name.len() + 4 + 16;
    let mut lines = String::new();
    for id in [4_u32, 5, 31, 32, 33, 36, 37, 38, GgmlType::IQ2_S.id(), 999, u32::MAX] {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&id.to_le_bytes());
        fs::write(&path, bytes).expect("a written file");
        writeln!(lines, "{id}: {}", refused(&path)).expect("memory");
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn what_is_less_than_a_model() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    let mut lines = String::new();

    fs::write(&path, Raw::header(0, 0).0).expect("a written file");
    writeln!(lines, "neither keys nor tensors: {}", refused(&path)).expect("memory");

    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let mut writer = Writer::new();
    gguf.metadata().for_each(|(key, value)| writer.put(key, value).expect("a key"));
    writer.write_file(&path).expect("a written file");
    writeln!(lines, "a vocabulary alone: {}", refused(&path)).expect("memory");

    let mut writer = Writer::new();
    tensors(&gguf, &mut writer);
    writer.write_file(&path).expect("a written file");
    writeln!(lines, "tensors alone: {}", refused(&path)).expect("memory");

    let file = Raw::header(0, 1).key("split.count", value::STRING).string(b"3");
    fs::write(&path, file.0).expect("a written file");
    let line = refusal(xtask(["inspect"]).arg(&path)).replace(&*folder.path().to_string_lossy(), "FOLDER");
    writeln!(lines, "a number of files that is text: {line}").expect("memory");
    insta::assert_snapshot!(lines);
}

/// A scale of NaN reaches every logit: no token is chosen, and `verify` says where it is.
#[test]
fn a_scale_that_is_no_number() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let name = "blk.1.ffn_down.weight";
    let mut damaged = gguf.tensor(name).expect("a tensor").data().expect("its bytes").to_vec();
    let block = gguf.tensor(name).expect("a tensor").ty().expect("a type").block_bytes();
    damaged[3 * block..4 * block].fill(0xff);
    let mut writer = Writer::new();
    gguf.metadata().for_each(|(key, value)| writer.put(key, value).expect("a key"));
    for tensor in gguf.tensors() {
        let data: &[u8] = if tensor.name() == name { &damaged } else { tensor.data().expect("its bytes") };
        writer.tensor(tensor.name(), tensor.ty().expect("a type"), tensor.dims(), data).expect("a tensor");
    }
    writer.write_file(&path).expect("a written file");

    let output = xtask(["generate", "--prompt=a", "--model"]).arg(&path).output().expect("it starts");
    assert!(!output.status.success() && output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).expect("text");
    // The line about tiers and threads has been said by then.
    let error = said.lines().last().expect("a line");
    assert_eq!(
        error,
        format!("error: {}: all logits are NaN: a weight or an activation is not finite", path.display())
    );
    let output = xtask(["verify"]).arg(&path).output().expect("it starts");
    assert!(!output.status.success());
    let found = String::from_utf8(output.stdout).expect("text");
    let row_and_block = |line: &str| line.starts_with(name) && line.trim_end().ends_with(" 0:3");
    assert!(found.lines().any(row_and_block), "{found}");
    assert_eq!(names_in(folder.path()), ["model.gguf"]);
}

/// Numbers of keys and tensors that only a file made to harm has: it is read, or its fault named, within seconds.
#[test]
fn a_million_of_each() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    let count = 1_000_000_u64;
    let keys = |name: &dyn Fn(u64) -> String| {
        (0..count).fold(Raw::header(0, count), |file, key| file.key(&name(key), value::U8).bytes(&[0])).0
    };
    fs::write(&path, keys(&|key| format!("{key:x}"))).expect("a written file");
    let text = printed(xtask(["verify"]).arg(&path));
    assert!(text.ends_with("all elements are finite\n"), "{text}");
    let line = refusal(xtask(["generate", "--prompt=a", "--model"]).arg(&path));
    assert!(line.ends_with("key \"tokenizer.ggml.model\": not in the file"), "{line}");

    fs::write(&path, keys(&|_| "k".into())).expect("a written file");
    let line = refusal(xtask(["inspect"]).arg(&path));
    assert!(line.ends_with("key \"k\" at byte 38: the name was used before, at byte 24"), "{line}");

    let file = (0..count).fold(Raw::header(count, 0), |file, number| {
        file.tensor(&format!("{number:x}"), &[1], crate::hostile::raw::tensor::F32, 32 * number)
    });
    fs::write(&path, file.data(32, 32 * 1_000_000).0).expect("a written file");
    let text = printed(xtask(["verify"]).arg(&path));
    assert!(text.ends_with("all elements are finite\n"), "{text}");
}
