//! Arrays of a file: [`Bin`], plain bytes that an index describes, and [`Npz`], numpy's archive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use zip::ZipArchive;

use crate::sha256;

/// The types of numbers that arrays have.
pub(super) trait Number: Sized {
    /// numpy's name.
    const NAME: &'static str;

    /// numpy's description in a file.
    const DESCR: &'static str;

    /// The numbers of little-endian bytes, as many as are whole.
    fn read(bytes: &[u8]) -> Vec<Self>;
}

impl Number for u8 {
    const NAME: &'static str = "uint8";
    const DESCR: &'static str = "|u1";

    fn read(bytes: &[u8]) -> Vec<Self> {
        bytes.to_vec()
    }
}

impl Number for u16 {
    const NAME: &'static str = "uint16";
    const DESCR: &'static str = "<u2";

    fn read(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)).collect()
    }
}

impl Number for f32 {
    const NAME: &'static str = "float32";
    const DESCR: &'static str = "<f4";

    fn read(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)).collect()
    }
}

/// What an index tells of a [`Bin`].
#[derive(Debug, Deserialize)]
pub(super) struct BinIndex {
    file: String,
    bytes: u64,
    arrays: Vec<ArrayIndex>,
}

#[derive(Debug, Deserialize)]
struct ArrayIndex {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    offset: usize,
}

/// A file of arrays one after another.
#[derive(Debug)]
pub(super) struct Bin {
    path: PathBuf,
    bytes: Vec<u8>,
    arrays: Vec<ArrayIndex>,
    /// Of the arrays that have one.
    sha256: BTreeMap<String, String>,
}

impl Bin {
    pub(super) fn open(folder: &Path, index: BinIndex, sha256: BTreeMap<String, String>) -> Result<Self> {
        let path = file_in(folder, &index.file)?;
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        ensure!(
            bytes.len() as u64 == index.bytes,
            "{}: it has {} bytes, the index says {}",
            path.display(),
            bytes.len(),
            index.bytes
        );
        Ok(Self { path, bytes, arrays: index.arrays, sha256 })
    }

    /// The SHA-256 of the file.
    pub(super) fn file_sha256(&self) -> String {
        sha256::of_bytes(&self.bytes)
    }

    /// Whether the index has such an array.
    pub(super) fn has(&self, name: &str) -> bool {
        self.arrays.iter().any(|array| array.name == name)
    }

    /// An array of this shape.
    ///
    /// # Errors
    /// There is none, it has another type or shape, it is not within the file, or its SHA-256 is another.
    pub(super) fn array<T: Number>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        self.find::<T>(name, shape).with_context(|| format!("{}: {name}", self.path.display()))
    }

    fn find<T: Number>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        let index = self.arrays.iter().find(|array| array.name == name).context("the index has no such array")?;
        ensure!(
            index.dtype == T::NAME && index.shape == shape,
            "expected {} {shape:?}, found {} {:?}",
            T::NAME,
            index.dtype,
            index.shape
        );
        let len = length(shape)?.checked_mul(size_of::<T>()).context("too large")?;
        let bytes = self.bytes.get(index.offset..).and_then(|rest| rest.get(..len));
        let bytes = bytes.context("it goes beyond the end of the file")?;
        if let Some(wanted) = self.sha256.get(name) {
            check_sha256(wanted, &sha256::of_bytes(bytes))?;
        }
        Ok(T::read(bytes))
    }
}

/// A zip file of numpy's arrays.
pub(super) struct Npz {
    path: PathBuf,
    archive: ZipArchive<File>,
}

impl Npz {
    pub(super) fn open(folder: &Path, file: &str) -> Result<Self> {
        let path = file_in(folder, file)?;
        let describe = || path.display().to_string();
        let archive = ZipArchive::new(File::open(&path).with_context(describe)?).with_context(describe)?;
        Ok(Self { path, archive })
    }

    /// The SHA-256 of the file.
    pub(super) fn file_sha256(&self) -> Result<String> {
        sha256::of_file(&self.path)
    }

    /// An array of this shape.
    ///
    /// # Errors
    /// There is none, or it has another type or shape or length.
    pub(super) fn array<T: Number>(&mut self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        self.find(name, shape).with_context(|| format!("{}: {name}", self.path.display()))
    }

    fn find<T: Number>(&mut self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        let mut file = self.archive.by_name(&format!("{name}.npy"))?;
        let mut start = [0; START.len() + 2];
        file.read_exact(&mut start)?;
        let (magic, len) = start.split_at(START.len());
        ensure!(magic == START, "it is no array of numpy's format 1.0");
        let mut header = vec![0; usize::from(u16::from_le_bytes([len[0], len[1]]))];
        file.read_exact(&mut header)?;
        let header: String = String::from_utf8_lossy(&header).split_whitespace().collect();
        let wanted = header_of::<T>(shape);
        ensure!(header == wanted, "expected {wanted}, found {header}");

        let mut bytes = vec![0; length(shape)?.checked_mul(size_of::<T>()).context("too large")?];
        file.read_exact(&mut bytes)?;
        ensure!(file.read(&mut [0])? == 0, "there is more than the array");
        Ok(T::read(&bytes))
    }
}

/// How a file of numpy's array format 1.0 begins, before two bytes that are the length of its header.
const START: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// The header that numpy writes for rows of this shape, without blanks.
fn header_of<T: Number>(shape: &[usize]) -> String {
    let shape = match shape {
        [length] => format!("{length},"),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
    };
    format!("{{'descr':'{}','fortran_order':False,'shape':({shape}),}}", T::DESCR)
}

/// Elements of a shape.
fn length(shape: &[usize]) -> Result<usize> {
    shape.iter().try_fold(1_usize, |product, &length| product.checked_mul(length)).context("too large")
}

/// A file of the folder itself.
fn file_in(folder: &Path, file: &str) -> Result<PathBuf> {
    let mut components = Path::new(file).components();
    ensure!(
        matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)),
        "{}: {file:?} is no file of it",
        folder.display()
    );
    Ok(folder.join(file))
}

/// Compares a SHA-256 with the one that is stored.
pub(super) fn check_sha256(wanted: &str, found: &str) -> Result<()> {
    ensure!(wanted == found, "its SHA-256 is {found}, the index says {wanted}");
    Ok(())
}
