//! Sets that open.

use std::path::Path;

use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Gguf, Source, Tensor, Value, open_set};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::{OPENERS, data_of, files_in, name, three, written};
use crate::properties::any_tensor;
use crate::walk::walk;

fn names<'a>(gguf: &Gguf<'a>) -> Vec<&'a str> {
    gguf.tensors().iter().map(Tensor::name).collect()
}

#[test]
fn a_set_opens_from_any_of_its_files() {
    let folder = written(&three());
    let paths: Vec<_> = files_in(folder.path()).iter().map(|name| folder.path().join(name)).collect();
    for path in &paths {
        for open in OPENERS {
            let set = open_set(path, open).unwrap();
            let opened: Vec<_> = set.sources().iter().map(Source::path).collect();
            assert_eq!(opened, paths);

            let gguf = set.parse().unwrap();
            assert_eq!((gguf.shards(), gguf.require("general.architecture")), (3, Ok("llama")));
            assert_eq!(names(&gguf), ["a", "b", "c"]);
            for (tensor, shard) in gguf.tensors().iter().zip([1, 1, 2]) {
                assert_eq!((tensor.shard(), tensor.data().unwrap()), (shard, &data_of(tensor.name())[..]));
                let start = usize::try_from(tensor.offset()).unwrap();
                assert_eq!(tensor.data().unwrap(), &set.sources()[shard].as_bytes()[start..][..16]);
            }
            walk(&gguf);
        }
    }
}

#[test]
fn a_file_that_is_no_part_of_a_set_is_a_set_of_one() {
    let mut plain = three().remove(1);
    plain.keys.clear();
    let mut one = plain.clone();
    for (key, value) in [("split.no", 0), ("split.count", 1), ("split.tensors.count", 2)] {
        one.put(key, Value::U16(value));
    }
    // What `gguf-split --merge` makes.
    let mut merged = one.clone();
    merged.put("split.count", Value::U16(0));
    // The name alone makes no set, and another name is no fault of one file.
    for (shard, name) in [(&plain, name(2, 3)), (&one, name(1, 1)), (&one, "m.gguf".into()), (&merged, "m.gguf".into())]
    {
        let mut shard = shard.clone();
        shard.name = name;
        let folder = written(&[shard]);
        let set = open_set(folder.path().join(&files_in(folder.path())[0]), Source::map).unwrap();
        assert_eq!(set.sources().len(), 1);
        let gguf = set.parse().unwrap();
        assert_eq!((gguf.shards(), gguf.tensors()[1].shard()), (1, 0));
        assert_eq!(names(&gguf), ["a", "b"]);
    }
}

#[test]
fn each_file_has_an_alignment_of_its_own() {
    let mut shards = three();
    shards[0].put("general.alignment", Value::U32(1024));
    shards[2].put("general.alignment", Value::U32(1));
    let folder = written(&shards);
    let set = open_set(folder.path().join(name(1, 3)), Source::map).unwrap();
    let gguf = set.parse().unwrap();
    assert_eq!(gguf.alignment(), 1024);
    for tensor in gguf.tensors() {
        assert_eq!(tensor.data().unwrap(), data_of(tensor.name()));
    }
}

#[test]
fn integers_of_any_width_count() {
    let mut shards = three();
    for (number, shard) in (0..).zip(&mut shards) {
        shard.put("split.no", Value::I64(number));
        shard.put("split.count", Value::U8(3));
    }
    shards[1].put("split.tensors.count", Value::U64(3));
    // The first file alone must say how many tensors there are.
    shards[2].remove("split.tensors.count");
    let folder = written(&shards);
    let set = open_set(folder.path().join(name(3, 3)), Source::map).unwrap();
    assert_eq!(set.parse().unwrap().tensors().len(), 3);
}

#[test]
fn names_are_taken_as_they_are() {
    for prefix in ["..", "", "a-00001-of-00002", "%s \u{e9}"] {
        let mut shards = three();
        for shard in &mut shards {
            shard.name = format!("{prefix}{}", &shard.name[1..]);
        }
        let folder = written(&shards);
        let set = open_set(folder.path().join(&shards[1].name), Source::map).unwrap();
        assert_eq!(set.sources().len(), 3);
        assert!(set.sources().iter().all(|source| source.path().parent() == Some(folder.path())));
    }
}

/// As in a cache that keeps files under their hashes and gives them names by links.
#[cfg(unix)]
#[test]
fn links_are_looked_for_where_they_are_and_not_where_they_lead() {
    let shards = three();
    let blobs = written(&shards);
    let links = tempfile::tempdir().unwrap();
    for (number, shard) in shards.iter().enumerate() {
        let blob = blobs.path().join(number.to_string());
        std::fs::rename(blobs.path().join(&shard.name), &blob).unwrap();
        std::os::unix::fs::symlink(blob, links.path().join(&shard.name)).unwrap();
    }
    let set = open_set(links.path().join(name(2, 3)), Source::map).unwrap();
    assert_eq!(set.parse().unwrap().tensors().len(), 3);
}

#[test]
fn an_error_about_a_tensor_says_which_file_it_is_in() {
    let folder = written(&three());
    let set = open_set(folder.path().join(name(1, 3)), Source::map).unwrap();
    let gguf = set.parse().unwrap();
    let error = gguf.require_tensor("c").unwrap().slice(1).unwrap_err();
    assert_eq!(error.shard(), Some(2));
    insta::assert_snapshot!(error, @r#"tensor "c" at byte 106 of shard 3: slice 1 of a stack of 1"#);
}

#[test]
fn many_tensors_in_many_files_take_no_more_than_sorting() {
    // Ten files of twenty thousand tensors each; their names come in no order.
    let folder = tempfile::tempdir().unwrap();
    let total = 200_000_u32;
    for shard in 0..10_u16 {
        let mut writer = Writer::new();
        writer.put("split.no", shard).unwrap();
        writer.put("split.count", 10_u16).unwrap();
        writer.put("split.tensors.count", total).unwrap();
        writer.put("general.alignment", 1_u32).unwrap();
        for number in (u32::from(shard)..total).step_by(10) {
            writer.tensor(&format!("{:x}", number.reverse_bits()), GgmlType::I8, &[1], &[7]).unwrap();
        }
        writer.write_file(folder.path().join(name(shard + 1, 10))).unwrap();
    }
    let set = open_set(folder.path().join(name(5, 10)), Source::map).unwrap();
    let gguf = set.parse().unwrap();
    assert_eq!(gguf.tensors().len(), 200_000);
    for number in (0..total).step_by(997) {
        let tensor = gguf.require_tensor(&format!("{:x}", number.reverse_bits())).unwrap();
        assert_eq!((tensor.shard(), tensor.data().unwrap()), (number as usize % 10, &[7][..]));
    }
}

type AnyTensor = (GgmlType, Vec<u64>, Vec<u8>);

/// Writes tensors into files, each up to its cut; the first file has one key of its own.
fn write_cut(folder: &Path, tensors: &[(&String, &AnyTensor)], cuts: &[usize], alignments: &[u32]) {
    let mut start = 0;
    let count = u16::try_from(cuts.len()).unwrap();
    for (shard, (&end, alignment)) in (0..).zip(cuts.iter().zip(alignments)) {
        let mut writer = Writer::new();
        if shard == 0 {
            writer.put("general.architecture", "llama").unwrap();
        }
        writer.put("general.alignment", *alignment).unwrap();
        writer.put("split.no", shard).unwrap();
        writer.put("split.count", count).unwrap();
        writer.put("split.tensors.count", i32::try_from(tensors.len()).unwrap()).unwrap();
        for (name, (ty, dims, data)) in &tensors[start..end] {
            writer.tensor(name, *ty, dims, data).unwrap();
        }
        writer.write_file(folder.join(name(shard + 1, count))).unwrap();
        start = end;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_cut_in_pieces_has_the_tensors_of_the_whole(
        tensors in btree_map("[a-z.0-9]{1,63}", any_tensor(), 0..12),
        pieces in vec((any::<prop::sample::Index>(), (0..8_u32).prop_map(|log| 1 << log)), 1..6),
        opened in any::<prop::sample::Index>(),
    ) {
        let tensors: Vec<_> = tensors.iter().collect();
        let mut whole = Writer::new();
        for (name, (ty, dims, data)) in &tensors {
            whole.tensor(name, *ty, dims, data).unwrap();
        }
        let mut bytes = Vec::new();
        whole.write_to(&mut bytes).unwrap();
        let whole = Gguf::parse(&bytes).unwrap();

        let (mut cuts, alignments): (Vec<_>, Vec<_>) =
            pieces.iter().map(|(cut, alignment)| (cut.index(tensors.len() + 1), *alignment)).unzip();
        cuts.sort_unstable();
        *cuts.last_mut().unwrap() = tensors.len();
        let folder = tempfile::tempdir().unwrap();
        write_cut(folder.path(), &tensors, &cuts, &alignments);

        let count = cuts.len() as u16;
        let path = folder.path().join(name(opened.index(cuts.len()) as u16 + 1, count));
        for open in OPENERS {
            let set = open_set(&path, open).unwrap();
            let gguf = set.parse().unwrap();
            prop_assert_eq!((gguf.shards(), gguf.require("general.architecture")), (cuts.len(), Ok("llama")));
            prop_assert_eq!(gguf.tensors().len(), tensors.len());
            for (index, (tensor, wanted)) in gguf.tensors().iter().zip(whole.tensors()).enumerate() {
                prop_assert_eq!((tensor.name(), tensor.ty(), tensor.dims()), (wanted.name(), wanted.ty(), wanted.dims()));
                prop_assert_eq!(tensor.data().unwrap(), wanted.data().unwrap());
                prop_assert_eq!(tensor.shard(), cuts.partition_point(|&cut| cut <= index));
                prop_assert_eq!(gguf.require_tensor(tensor.name()).unwrap().offset(), tensor.offset());
            }
        }
    }
}
