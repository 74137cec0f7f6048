//! Models in several files that are no set.

use crate::hostile::raw::{Raw, tensor, value};

/// Files of a folder, of which one is opened.
pub(crate) struct Set {
    pub(crate) what: &'static str,
    /// Names and bytes, the one to open first.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

/// What the keys of a file of a set say.
#[derive(Clone, Copy)]
struct Shard {
    number: u32,
    count: u32,
    total: u32,
    model: &'static str,
    tensor: &'static str,
}

/// A file of a set of three with a tensor each.
const fn shard(number: u32, tensor: &'static str) -> Shard {
    Shard { number, count: 3, total: 3, model: "small", tensor }
}

/// Three files that are a set.
const THREE: [Shard; 3] = [shard(0, "a"), shard(1, "b"), shard(2, "c")];

impl Shard {
    fn bytes(&self) -> Vec<u8> {
        let number = |file: Raw, key, number| file.key(key, value::U32).u32(number);
        let file = Raw::header(1, 4).key("general.name", value::STRING).string(self.model.as_bytes());
        let file = number(number(file, "split.no", self.number), "split.count", self.count);
        number(file, "split.tensors.count", self.total).tensor(self.tensor, &[16], tensor::F32, 0).data(32, 64).0
    }
}

fn name(number: usize, count: usize) -> String {
    format!("m-{number:05}-of-{count:05}.gguf")
}

/// A set whose files are called as they should be.
fn set(what: &'static str, shards: &[Shard]) -> Set {
    let count = shards.len();
    Set { what, files: (1..).zip(shards).map(|(number, shard)| (name(number, count), shard.bytes())).collect() }
}

/// The set of three with other keys.
fn changed(what: &'static str, change: impl Fn(&mut [Shard; 3])) -> Set {
    let mut shards = THREE;
    change(&mut shards);
    set(what, &shards)
}

/// The set of three with other files.
fn rearranged(what: &'static str, change: impl Fn(&mut Vec<(String, Vec<u8>)>)) -> Set {
    let mut set = set(what, &THREE);
    change(&mut set.files);
    set
}

/// A set that opens, for its bytes.
pub(crate) fn whole_set() -> Set {
    set("whole", &THREE)
}

/// Sets that do not open.
pub(crate) fn sets() -> Vec<Set> {
    vec![
        rearranged("a shard is missing", |files| drop(files.remove(1))),
        rearranged("the first is missing", |files| drop(files.remove(0))),
        rearranged("two with one number", |files| files[2].1 = files[1].1.clone()),
        rearranged("one is cut off", |files| files[1].1.truncate(200)),
        rearranged("one is a pointer", |files| files[2].1 = b"version https://git-lfs.github.com/spec/v1\n".to_vec()),
        rearranged("another name", |files| files[0].0 = "model.gguf".into()),
        changed("count 0", |shards| shards.iter_mut().for_each(|shard| shard.count = 0)),
        changed("count 65535", |shards| shards.iter_mut().for_each(|shard| shard.count = 65535)),
        changed("count 2^32 - 1", |shards| shards.iter_mut().for_each(|shard| shard.count = u32::MAX)),
        changed("totals disagree", |shards| shards[2].total = 4),
        changed("the total is another", |shards| shards.iter_mut().for_each(|shard| shard.total = 2)),
        changed("a tensor in two", |shards| shards[2].tensor = "a"),
        changed("a shard of another model", |shards| shards[1].model = "large"),
        Set {
            what: "65534 of 65535 missing",
            files: vec![(name(1, 65535), Shard { count: 65535, ..THREE[0] }.bytes())],
        },
    ]
}
