//! What a GGUF file holds, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use keepq_gguf::{Gguf, Source, SourceSet, Tensor, TypeIdError, Value};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::columns::{Align, aligned};

/// Elements of an array that JSON shows.
const SHOWN: usize = 8;

/// The report.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    path: String,
    /// Of all files.
    bytes: usize,
    files: Vec<FileRow>,
    version: u32,
    alignment: u32,
    #[serde(serialize_with = "metadata")]
    metadata: Vec<(&'a str, Value<'a>)>,
    tensors: Vec<TensorRow<'a>>,
    totals: Vec<Total>,
    /// Types that this version does not know, with what is known of them.
    unknown_types: Vec<String>,
}

/// A file.
#[derive(Serialize)]
struct FileRow {
    path: String,
    bytes: usize,
    tensors: usize,
}

/// A tensor.
#[derive(Serialize)]
struct TensorRow<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: String,
    /// Fastest first: `[k, n]`.
    shape: Vec<u64>,
    /// None where the type is unknown.
    bytes: Option<u64>,
    /// From the start of its file.
    offset: u64,
    /// Index into the files.
    file: usize,
}

/// All tensors of one type.
#[derive(Serialize)]
struct Total {
    #[serde(rename = "type")]
    ty: String,
    tensors: usize,
    elements: u64,
    bytes: Option<u64>,
}

impl<'a> Report<'a> {
    pub(super) fn new(path: &Path, set: &SourceSet, gguf: &Gguf<'a>) -> Self {
        let mut files: Vec<_> = set.sources().iter().map(FileRow::without_tensors).collect();
        let mut totals = BTreeMap::new();
        let mut unknown_types = BTreeMap::new();
        for tensor in gguf.tensors() {
            // In the order of the ids, those that are not known last.
            let place = tensor.ty().map_or_else(|error| (true, id_of(error)), |ty| (false, ty.id()));
            files[tensor.shard()].tensors += 1;
            let total = totals.entry(place).or_insert_with(|| Total::none_of(tensor));
            total.tensors += 1;
            total.elements = total.elements.saturating_add(tensor.elements());
            total.bytes = total.bytes.zip(tensor.byte_size()).map(|(sum, bytes)| sum.saturating_add(bytes));
            if let Err(error) = tensor.ty() {
                unknown_types.insert(id_of(error), error.to_string());
            }
        }
        Self {
            path: path.display().to_string(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            files,
            version: gguf.version(),
            alignment: gguf.alignment(),
            metadata: gguf.metadata().collect(),
            tensors: gguf.tensors().iter().map(TensorRow::new).collect(),
            totals: totals.into_values().collect(),
            unknown_types: unknown_types.into_values().collect(),
        }
    }
}

impl FileRow {
    fn without_tensors(source: &Source) -> Self {
        Self { path: source.path().display().to_string(), bytes: source.as_bytes().len(), tensors: 0 }
    }
}

impl<'a> TensorRow<'a> {
    fn new(tensor: &Tensor<'a>) -> Self {
        Self {
            name: tensor.name(),
            ty: type_name(tensor),
            shape: tensor.dims().to_vec(),
            bytes: tensor.byte_size(),
            offset: tensor.offset(),
            file: tensor.shard(),
        }
    }
}

impl Total {
    fn none_of(tensor: &Tensor<'_>) -> Self {
        Self { ty: type_name(tensor), tensors: 0, elements: 0, bytes: Some(0) }
    }
}

/// The type's name; of a type that is not known, its number.
fn type_name(tensor: &Tensor<'_>) -> String {
    match tensor.ty() {
        Ok(ty) => ty.name().to_owned(),
        Err(TypeIdError::Removed { name, .. }) => name.to_owned(),
        Err(TypeIdError::Unknown { id }) => format!("type {id}"),
    }
}

const fn id_of(error: TypeIdError) -> u32 {
    match error {
        TypeIdError::Removed { id, .. } | TypeIdError::Unknown { id } => id,
    }
}

/// An object of the keys. Numbers, booleans and strings are themselves, a long array its first elements.
fn metadata<S: Serializer>(entries: &[(&str, Value<'_>)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for (key, value) in entries {
        map.serialize_entry(key, &Json(*value))?;
    }
    map.end()
}

/// A value as JSON has it.
struct Json<'a>(Value<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::U8(v) => v.serialize(serializer),
            Value::I8(v) => v.serialize(serializer),
            Value::U16(v) => v.serialize(serializer),
            Value::I16(v) => v.serialize(serializer),
            Value::U32(v) => v.serialize(serializer),
            Value::I32(v) => v.serialize(serializer),
            Value::U64(v) => v.serialize(serializer),
            Value::I64(v) => v.serialize(serializer),
            Value::F32(v) => v.serialize(serializer),
            Value::F64(v) => v.serialize(serializer),
            Value::Bool(v) => v.serialize(serializer),
            Value::String(v) => v.serialize(serializer),
            Value::Array(array) => {
                let first: Vec<_> = array.values().take(SHOWN).map(Json).collect();
                if array.len() <= SHOWN {
                    return first.serialize(serializer);
                }
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("array_of", array.element_type().name())?;
                map.serialize_entry("len", &array.len())?;
                map.serialize_entry("first", &first)?;
                map.end()
            }
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, bytes, version, alignment, metadata, tensors, totals, unknown_types, files } = self;
        writeln!(f, "{path}: GGUF version {version}, {bytes} bytes, alignment {alignment}")?;

        let is_set = files.len() > 1;
        if is_set {
            writeln!(f, "\n{} files", files.len())?;
            let mut rows = vec![["file", "bytes", "tensors", "path"].map(str::to_owned)];
            rows.extend((1..).zip(files).map(|(number, FileRow { path, bytes, tensors })| {
                [number.to_string(), bytes.to_string(), tensors.to_string(), path.clone()]
            }));
            f.write_str(&aligned([Align::Right, Align::Right, Align::Right, Align::Left], &rows))?;
        }

        writeln!(f, "\n{} keys", metadata.len())?;
        let keys: Vec<_> = metadata.iter().map(|(key, value)| [shown(key), value.to_string()]).collect();
        f.write_str(&aligned([Align::Left; 2], &keys))?;

        writeln!(f, "\n{} tensors", tensors.len())?;
        // The last column is empty, and so leaves no trace, where there is but one file.
        let head = ["name", "type", "shape", "bytes", "offset", if is_set { "file" } else { "" }];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(tensors.iter().map(|TensorRow { name, ty, shape, bytes, offset, file }| {
            let file = if is_set { (file + 1).to_string() } else { String::new() };
            [shown(name), ty.clone(), joined(shape), or_unknown(*bytes), offset.to_string(), file]
        }));
        f.write_str(&aligned(
            [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right],
            &rows,
        ))?;

        writeln!(f, "\ntotals")?;
        let mut rows = vec![["type", "tensors", "elements", "bytes"].map(str::to_owned)];
        rows.extend(totals.iter().map(|Total { ty, tensors, elements, bytes }| {
            [ty.clone(), tensors.to_string(), elements.to_string(), or_unknown(*bytes)]
        }));
        f.write_str(&aligned([Align::Left, Align::Right, Align::Right, Align::Right], &rows))?;
        unknown_types.iter().try_for_each(|unknown| writeln!(f, "{unknown}"))
    }
}

/// A name of the file without characters that would move the cursor or hide.
fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}

/// `576x49152`: k, then n.
fn joined(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

fn or_unknown(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".into(), |bytes| bytes.to_string())
}
