//! [`open_set`]: a model in several files.

mod keys;
mod name;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cursor::Cursor;
use crate::header::Header;
use crate::metadata::Metadata;
use crate::{Gguf, GgufError, OpenError, OpenErrorKind, Source, Tensor};

use keys::Place;
use name::ShardName;
pub(crate) use name::Suffix;

/// Opens a model, whether it is one file or a set of several, whichever of them `path` names.
///
/// `open` is [`Source::map`], with its contract for every file, or [`Source::read`]. A file is one of a set where its
/// metadata say so (`split.count` above 1). It has a name of this form, and the others lie beside it, under the same name
/// with other numbers:
///
/// ```text
/// model-00001-of-00003.gguf    all metadata; may have no tensors
/// model-00002-of-00003.gguf    `split.*` alone, tensors
/// model-00003-of-00003.gguf
/// ```
///
/// Nothing but the numbers in the name changes, so that no path leads out of the folder. Whether all files are there is
/// known before the first of the others is opened, and nothing is reserved by their number. A count of 1 is a whole file,
/// as is 0, which `gguf-split --merge` leaves in what it makes of a set.
///
/// Where the name has not this form, nothing is read here: that such a file is not whole is said when it is parsed.
///
/// ```
/// use keepq_gguf::{GgmlType, Source, open_set, write::Writer};
///
/// let folder = tempfile::tempdir()?;
/// let shard = |number: u16| folder.path().join(format!("model-{number:05}-of-00002.gguf"));
/// for number in [1, 2] {
///     let mut writer = Writer::new();
///     if number == 1 {
///         writer.put("general.architecture", "llama")?;
///     }
///     writer.put("split.no", number - 1)?;
///     writer.put("split.count", 2_u16)?;
///     writer.put("split.tensors.count", 2_i32)?;
///     writer.tensor(&format!("blk.{number}.attn_norm.weight"), GgmlType::F32, &[4], &[0; 16])?;
///     writer.write_file(shard(number))?;
/// }
///
/// let set = open_set(shard(2), Source::map)?;
/// let gguf = set.parse()?;
/// assert_eq!(gguf.get("general.architecture")?, Some("llama"));
/// assert_eq!((gguf.shards(), gguf.tensors().len()), (2, 2));
/// let tensor = gguf.require_tensor("blk.2.attn_norm.weight")?;
/// assert_eq!(set.sources()[tensor.shard()].path(), shard(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OpenError`] with the path of the file at fault: [`OpenErrorKind::MissingShard`] for the first that is not there,
/// [`OpenErrorKind::Parse`] for metadata that cannot be read, or that say otherwise than the name
/// ([`ErrorKind::ShardNumber`](crate::ErrorKind::ShardNumber), [`ErrorKind::NotAsNamed`](crate::ErrorKind::NotAsNamed));
/// those of `open`.
pub fn open_set(
    path: impl AsRef<Path>,
    open: impl Fn(PathBuf) -> Result<Source, OpenError>,
) -> Result<SourceSet, OpenError> {
    let path = path.as_ref();
    let given = open(path.into())?;
    let name = match path.file_name().and_then(ShardName::parse) {
        Some(name) if check_in_set(&given, &name)? && name.count > 1 => name,
        _ => return Ok(SourceSet { sources: vec![given] }),
    };

    let beside = |number| path.with_file_name(name.with_number(number).to_string());
    for number in 1..=name.count {
        let path = beside(number);
        // Any other error is said when the file is opened.
        if fs::metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let missing = count_missing(&path, &name);
            return Err(OpenError::new(path, OpenErrorKind::MissingShard { number, count: name.count, missing }));
        }
    }
    let mut given = Some(given);
    let mut sources = Vec::new(); // grows by what is opened, not by the count
    for number in 1..=name.count {
        let source = match given.take_if(|_| number == name.number) {
            Some(given) => given,
            None => open_beside(beside(number), &name.with_number(number), &open)?,
        };
        sources.push(source);
    }
    Ok(SourceSet { sources })
}

/// Whether the metadata say that the file is one of a set: then it must be the one that its name says.
fn check_in_set(source: &Source, name: &ShardName<'_>) -> Result<bool, OpenError> {
    // The metadata alone: before it is known whether the set is whole, nothing else is needed.
    let read = |bytes| {
        let mut cursor = Cursor::new(bytes);
        let header = Header::read(&mut cursor, bytes)?;
        let metadata = Metadata::read(&mut cursor, header.keys)?;
        match Place::read(&metadata)? {
            Some(place) => place.check(Some(name), &metadata).map(|()| true),
            None => Ok(false),
        }
    };
    read(source.as_bytes()).map_err(|error| source.error(error))
}

/// Opens another file of the set, which must say of itself what its name says.
fn open_beside(
    path: PathBuf,
    name: &ShardName<'_>,
    open: impl Fn(PathBuf) -> Result<Source, OpenError>,
) -> Result<Source, OpenError> {
    let source = open(path)?;
    if check_in_set(&source, name)? { Ok(source) } else { Err(source.error(keys::no_count())) }
}

/// How many files of the set are missing, one of which is at `path`; none where the folder cannot be listed. Takes time by
/// the files that there are, not by their claimed number.
fn count_missing(path: &Path, name: &ShardName<'_>) -> Option<u16> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = |entry: &fs::DirEntry| ShardName::parse(&entry.file_name()).is_some_and(|other| other.is_beside(name));
    let there = fs::read_dir(folder).ok()?.flatten().filter(beside).count();
    // One at least: where a link leads nowhere, its name is there and the file is not.
    Some(usize::from(name.count).saturating_sub(there).max(1) as u16)
}

/// Owns the bytes of all files of a model, of one file or several; a [`Gguf`] borrows from it. [`open_set`] makes it.
#[derive(Debug)]
pub struct SourceSet {
    /// One at least.
    sources: Vec<Source>,
}

impl SourceSet {
    /// The files, in the order of their numbers; one at least.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Gives back the memory of a tensor's data, in the file that it is in, as [`Source::release`] does: for a tensor that was copied
    /// to another layout. The tensor is one of those that [`parse`](Self::parse) found here.
    pub fn release(&self, tensor: &Tensor<'_>) {
        if let (Some(source), Some(len)) = (self.sources.get(tensor.shard()), tensor.byte_size()) {
            source.release(tensor.offset()..tensor.offset().saturating_add(len));
        }
    }

    /// Parses all files, as one: the metadata of the first, the tensors of all in the order of the files.
    ///
    /// # Errors
    /// [`OpenErrorKind::ShardName`] where the one file is one of several, and is not called as one.
    /// [`OpenErrorKind::Parse`] with the path of the file at fault: what is wrong with one file, as in [`Gguf::parse`];
    /// [`ErrorKind::NotAsFirst`](crate::ErrorKind::NotAsFirst) for a file of another model,
    /// [`ErrorKind::InTwoShards`](crate::ErrorKind::InTwoShards) for a tensor that two files have,
    /// [`ErrorKind::TensorCount`](crate::ErrorKind::TensorCount) where there are more or fewer tensors than there should
    /// be.
    pub fn parse(&self) -> Result<Gguf<'_>, OpenError> {
        let (first, others) = (&self.sources[0], &self.sources[1..]);
        let mut gguf = first.parse()?;
        let total = self.total(gguf.entries())?;
        let mut tensors = Vec::new();
        for source in others {
            let later = source.parse()?;
            keys::check_identity(gguf.entries(), later.entries()).map_err(|error| source.error(error))?;
            tensors.push(later.into_tensors());
        }
        gguf.add_shards(tensors).map_err(|error| self.error(error))?;
        if let Some(total) = total {
            keys::check_total(total, &gguf).map_err(|error| first.error(error))?;
        }
        Ok(gguf)
    }

    /// How many tensors the first file says there are; none where it says nothing of a set. The file may be alone and not
    /// whole: where its name was none of a set, this is the first look at what the metadata say.
    fn total(&self, metadata: &Metadata<'_>) -> Result<Option<u64>, OpenError> {
        let first = &self.sources[0];
        let error = |error| first.error(error);
        let Some(place) = Place::read(metadata).map_err(error)? else { return Ok(None) };
        place.check(None, metadata).map_err(error)?;
        if usize::from(place.files()) > self.sources.len() {
            let kind = OpenErrorKind::ShardName { number: place.number + 1, count: place.count };
            return Err(OpenError::new(first.path().into(), kind));
        }
        place.total(metadata).map_err(error)
    }

    /// An error about a tensor, with the path of the file that it is in.
    fn error(&self, error: GgufError) -> OpenError {
        self.sources[error.shard().unwrap_or(0)].error(error)
    }
}
