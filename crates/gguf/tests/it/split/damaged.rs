//! Sets that do not open: one line with the file at fault, whichever file was opened.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use keepq_gguf::{OpenErrorKind, Source, Value, open_set};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{OPENERS, Shard, files_in, name, three, written};
use crate::walk::walk;

/// A way to spoil the files that [`three`] makes.
struct Damage {
    what: &'static str,
    change: fn(&mut Vec<Shard>),
}

const fn damage(what: &'static str, change: fn(&mut Vec<Shard>)) -> Damage {
    Damage { what, change }
}

fn put(shards: &mut [Shard], key: &'static str, value: Value<'static>) {
    shards.iter_mut().for_each(|shard| shard.put(key, value));
}

const NAMES: [Damage; 6] = [
    damage("a file of another name", |shards| {
        shards.truncate(1);
        shards[0].name = "model.gguf".into();
    }),
    damage("numbers of one digit", |shards| {
        for (number, shard) in shards.iter_mut().enumerate() {
            shard.name = format!("m-{}-of-3.gguf", number + 1);
        }
    }),
    damage("one file renamed", |shards| shards[1].name = "m-part-2.gguf".into()),
    damage("names of a set of four", |shards| {
        for (number, shard) in (1..).zip(&mut *shards) {
            shard.name = name(number, 4);
        }
        shards.push(Shard { name: name(4, 4), ..shards[2].clone() });
    }),
    damage("two files exchanged", |shards| {
        shards[1].name = name(3, 3);
        shards[2].name = name(2, 3);
    }),
    damage("one file there twice", |shards| shards[2] = Shard { name: name(3, 3), ..shards[1].clone() }),
];

const MISSING: [Damage; 5] = [
    damage("the first", |shards| drop(shards.remove(0))),
    damage("the last", |shards| drop(shards.remove(2))),
    damage("two of three", |shards| shards.truncate(1)),
    damage("all but one of 65535", |shards| {
        shards.truncate(1);
        shards[0].name = name(1, 65535);
        put(shards, "split.count", Value::U16(65535));
    }),
    damage("the files of another model are there", |shards| {
        shards.truncate(2);
        shards.push(Shard { name: format!("other-{}", name(3, 3)), ..shards[1].clone() });
    }),
];

const KEYS: [Damage; 15] = [
    damage("count is text", |shards| put(shards, "split.count", Value::String("3"))),
    damage("count is 0", |shards| put(shards, "split.count", Value::U16(0))),
    damage("count is 1", |shards| put(shards, "split.count", Value::U16(1))),
    damage("count is 65535", |shards| put(shards, "split.count", Value::U16(65535))),
    damage("count has more than 16 bits", |shards| put(shards, "split.count", Value::U32(65539))),
    damage("count is another in one file", |shards| shards[1].put("split.count", Value::U16(4))),
    damage("count is not in one file", |shards| shards[1].remove("split.count")),
    damage("number is a float", |shards| put(shards, "split.no", Value::F32(1.0))),
    damage("number is negative", |shards| shards[0].put("split.no", Value::I32(-1))),
    damage("number is not below count", |shards| shards[2].put("split.no", Value::U16(3))),
    damage("number is not there", |shards| shards[2].remove("split.no")),
    damage("tensors is a boolean", |shards| shards[0].put("split.tensors.count", Value::Bool(true))),
    damage("tensors is negative", |shards| put(shards, "split.tensors.count", Value::I32(-3))),
    damage("tensors is not in the first file", |shards| shards[0].remove("split.tensors.count")),
    damage("tensors is another in one file", |shards| shards[2].put("split.tensors.count", Value::I32(2))),
];

/// Files that say that they are whole, and are not.
const WHOLE: [Damage; 3] = [
    damage("of no files, with a number", |shards| whole(shards, 1, 0)),
    damage("of no files, with another number of tensors", |shards| whole(shards, 0, 0)),
    damage("of one file, with another number of tensors", |shards| whole(shards, 0, 1)),
];

fn whole(shards: &mut Vec<Shard>, number: u16, count: u16) {
    *shards = vec![shards.remove(1)];
    shards[0].name = "model.gguf".into();
    shards[0].put("split.no", Value::U16(number));
    shards[0].put("split.count", Value::U16(count));
}

const TENSORS: [Damage; 6] = [
    damage("too many", |shards| shards[2].tensors.push("d")),
    damage("too few", |shards| shards[1].tensors.truncate(1)),
    damage("one in two files", |shards| shards[2].tensors[0] = "b"),
    damage("one in two files, and the total right", |shards| {
        shards[0].tensors.push("c");
        put(shards, "split.tensors.count", Value::I32(4));
    }),
    damage("of another architecture", |shards| shards[1].put("general.architecture", Value::String("qwen2"))),
    damage("of another model", |shards| shards[2].put("general.name", Value::String("large\n"))),
];

/// What is wrong, without the folder, which differs from run to run.
fn refusal(path: &Path) -> String {
    let [mapped, read] = OPENERS.map(|open| {
        let error = open_set(path, open).and_then(|set| set.parse().map(drop)).unwrap_err().to_string();
        error.replace(&path.with_file_name("").display().to_string(), "")
    });
    assert_eq!(mapped, read);
    assert!(!mapped.chars().any(char::is_control), "{mapped}");
    mapped
}

/// The refusals of a folder's files: one where they are all the same.
fn refusals(lines: &mut String, what: &str, folder: &Path) {
    let files = files_in(folder);
    let errors: Vec<_> = files.iter().map(|file| refusal(&folder.join(file))).collect();
    if errors.iter().all(|error| *error == errors[0]) {
        return writeln!(lines, "  {what}: {}", errors[0]).unwrap();
    }
    writeln!(lines, "  {what}").unwrap();
    for (file, error) in files.iter().zip(errors) {
        writeln!(lines, "    opened from {file}: {error}").unwrap();
    }
}

#[test]
fn every_class_is_refused_with_one_line() {
    let mut lines = String::new();
    for (class, damages) in [
        ("names", &NAMES[..]),
        ("missing files", &MISSING),
        ("keys", &KEYS),
        ("whole files", &WHOLE),
        ("tensors", &TENSORS),
    ] {
        writeln!(lines, "{class}").unwrap();
        for Damage { what, change } in damages {
            let mut shards = three();
            change(&mut shards);
            refusals(&mut lines, what, written(&shards).path());
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let mut lines = String::new();
    for (what, bytes) in [
        ("a Git LFS pointer", &b"version https://git-lfs.github.com/spec/v1\n"[..]),
        ("an empty file", b""),
        ("a header cut off", &{
            let folder = written(&three());
            fs::read(folder.path().join(name(3, 3))).unwrap()[..100].to_vec()
        }),
        ("data cut off", &{
            let folder = written(&three());
            let bytes = fs::read(folder.path().join(name(3, 3))).unwrap();
            bytes[..bytes.len() - 17].to_vec()
        }),
    ] {
        let folder = written(&three());
        fs::write(folder.path().join(name(3, 3)), bytes).unwrap();
        refusals(&mut lines, what, folder.path());
    }
    let folder = written(&three()[..2]);
    fs::create_dir(folder.path().join(name(3, 3))).unwrap();
    refusals(&mut lines, "a directory", folder.path());
    insta::assert_snapshot!(lines);
}

#[test]
fn files_of_another_folder_are_not_looked_for() {
    let folder = written(&three());
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    fs::rename(folder.path().join(name(2, 3)), below.join(name(2, 3))).unwrap();
    let error = open_set(below.join(name(2, 3)), Source::map).unwrap_err();
    assert_eq!(error.path(), below.join(name(1, 3)));
    assert!(matches!(error.kind(), OpenErrorKind::MissingShard { number: 1, count: 3, missing: Some(2) }));
}

/// A link whose file is gone is no file, though the folder has its name.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_a_missing_file() {
    let folder = written(&three()[..2]);
    std::os::unix::fs::symlink("nowhere", folder.path().join(name(3, 3))).unwrap();
    assert_eq!(refusal(&folder.path().join(name(1, 3))), "m-00003-of-00003.gguf: shard 3 of 3 is missing");
}

/// A name that is not UTF-8 has no others beside it.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = written(&three());
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff-00001-of-00003.gguf"));
    fs::rename(folder.path().join(name(1, 3)), &path).unwrap();
    let set = open_set(&path, Source::map).unwrap();
    assert!(matches!(set.parse().unwrap_err().kind(), OpenErrorKind::ShardName { number: 1, count: 3 }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_mutation_is_a_set_or_an_error(
        edits in vec((1..=3_u16, any::<prop::sample::Index>(), any::<u8>()), 1..4),
        words in vec((1..=3_u16, any::<prop::sample::Index>(), prop_oneof![Just(0), Just(u64::MAX), 0..4_u64]), 0..2),
        opened in 1..=3_u16,
    ) {
        let folder = written(&three());
        for (number, at, mutation) in edits
            .iter()
            .map(|(number, at, byte)| (number, at, vec![*byte]))
            .chain(words.iter().map(|(number, at, word)| (number, at, word.to_le_bytes().to_vec())))
        {
            let path = folder.path().join(name(*number, 3));
            let mut bytes = fs::read(&path).unwrap();
            let at = at.index(bytes.len() - 8);
            bytes[at..][..mutation.len()].copy_from_slice(&mutation);
            fs::write(&path, bytes).unwrap();
        }
        if let Ok(set) = open_set(folder.path().join(name(opened, 3)), Source::map)
            && let Ok(gguf) = set.parse()
        {
            walk(&gguf);
        }
    }
}
