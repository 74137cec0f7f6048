//! Models in several files: opened from any of them, and refused where the files do not make a set.

mod damaged;
mod legal;

use std::fs;
use std::path::{Path, PathBuf};

use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, OpenError, Source, Value};
use tempfile::TempDir;

type Open = fn(PathBuf) -> Result<Source, OpenError>;

const OPENERS: [Open; 2] = [Source::map, Source::read];

/// A file of a set, for tests to spoil.
#[derive(Clone)]
struct Shard {
    name: String,
    keys: Vec<(&'static str, Value<'static>)>,
    tensors: Vec<&'static str>,
}

/// A set of three files, the first of which has no tensors.
fn three() -> Vec<Shard> {
    let tensors: [&[&str]; 3] = [&[], &["a", "b"], &["c"]];
    let mut shards: Vec<Shard> = (0..3_u16)
        .zip(tensors)
        .map(|(number, tensors)| Shard {
            name: name(number + 1, 3),
            keys: vec![
                ("split.no", Value::U16(number)),
                ("split.count", Value::U16(3)),
                ("split.tensors.count", Value::I32(3)),
            ],
            tensors: tensors.into(),
        })
        .collect();
    shards[0].put("general.architecture", Value::String("llama"));
    shards[0].put("general.name", Value::String("small"));
    shards
}

fn name(number: u16, count: u16) -> String {
    format!("m-{number:05}-of-{count:05}.gguf")
}

impl Shard {
    /// Sets a key, which need not be there.
    fn put(&mut self, key: &'static str, value: Value<'static>) {
        self.remove(key);
        self.keys.push((key, value));
    }

    fn remove(&mut self, key: &str) {
        self.keys.retain(|(known, _)| *known != key);
    }

    fn write(&self, folder: &Path) {
        let mut writer = Writer::new();
        for (key, value) in &self.keys {
            writer.put(key, *value).unwrap();
        }
        for tensor in &self.tensors {
            let data = data_of(tensor);
            writer.tensor_with(tensor, GgmlType::F32, &[4], move |out| out.write_all(&data)).unwrap();
        }
        writer.write_file(folder.join(&self.name)).unwrap();
    }
}

/// Four floats that tell a tensor from others.
fn data_of(tensor: &str) -> [u8; 16] {
    let mut data = [0; 16];
    data[..tensor.len()].copy_from_slice(tensor.as_bytes());
    data
}

fn written(shards: &[Shard]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    shards.iter().for_each(|shard| shard.write(folder.path()));
    folder
}

/// The names in a folder, sorted.
fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
