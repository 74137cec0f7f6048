//! [`Tensors`]: all tensors of a file, found in its data section.

use core::iter;
use core::mem;

use crate::cursor::Cursor;
use crate::names::{NameIndex, NoIndex};
use crate::{ErrorKind, GgufError, Subject, Tensor};

/// The tensors in the order of the file, and their order by name.
#[derive(Debug)]
pub(crate) struct Tensors<'a> {
    all: Vec<Tensor<'a>>,
    by_name: NameIndex,
}

impl<'a> Tensors<'a> {
    /// Reads and checks `count` headers, then finds the data in the file: the data section begins at the
    /// first multiple of the alignment after the headers.
    pub(crate) fn read(cursor: &mut Cursor<'a>, count: u64, alignment: u32, file: &'a [u8]) -> Result<Self, GgufError> {
        let mut all = Vec::new(); // grows by what is read, not by the count
        for number in 0..count {
            let tensor = Tensor::read(cursor, number, alignment)?;
            all.try_reserve(1).map_err(|_| GgufError::out_of_memory(tensor.header_at()))?;
            all.push(tensor);
        }
        let by_name = index(&all)?;

        let section = cursor.at().next_multiple_of(alignment.into());
        for tensor in &mut all {
            tensor.shift(section);
        }
        locate(&mut all, file)?;
        refuse_overlaps(&all)?;
        Ok(Self { all, by_name })
    }

    /// Adds the tensors of the later files of a set. All names are sorted once, however many files there are.
    pub(crate) fn add_shards(&mut self, others: Vec<Self>) -> Result<(), GgufError> {
        if others.is_empty() {
            return Ok(());
        }
        let shards = iter::once(mem::take(&mut self.all)).chain(others.into_iter().map(|other| other.all));
        for (shard, tensors) in (0..=u16::MAX).zip(shards) {
            self.all.try_reserve(tensors.len()).map_err(|_| no_memory(&tensors))?;
            self.all.extend(tensors.into_iter().map(|tensor| tensor.in_shard(shard)));
        }
        self.by_name = index(&self.all)?;
        Ok(())
    }

    pub(crate) fn all(&self) -> &[Tensor<'a>] {
        &self.all
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Tensor<'a>> {
        self.by_name.find(&self.all, name)
    }
}

/// The order by name; an error where a name is there twice.
fn index(tensors: &[Tensor<'_>]) -> Result<NameIndex, GgufError> {
    NameIndex::new(tensors).map_err(|error| match error {
        NoIndex::Repeated { first, second } => {
            let (first, second) = (&tensors[first], &tensors[second]);
            second.error(if first.shard() == second.shard() {
                ErrorKind::Duplicate { first: first.header_at() }
            } else {
                ErrorKind::InTwoShards { first: first.shard(), first_at: first.header_at() }
            })
        }
        NoIndex::OutOfMemory => no_memory(tensors),
    })
}

/// That there is no memory to put the tensors in order.
fn no_memory(tensors: &[Tensor<'_>]) -> GgufError {
    GgufError::out_of_memory(tensors.last().map_or(0, Tensor::header_at))
}

/// Finds the data of all tensors, and says of a file that is too short how long it must be.
fn locate<'a>(tensors: &mut [Tensor<'a>], file: &'a [u8]) -> Result<(), GgufError> {
    let found = file.len() as u64;
    let needed = tensors.iter().map(Tensor::end).max().unwrap_or_default();
    for tensor in tensors {
        if !tensor.locate(file) {
            let kind = ErrorKind::Truncated { needed, found };
            return Err(GgufError::new(Subject::tensor(tensor.name()), tensor.offset(), kind));
        }
    }
    Ok(())
}

/// Refuses tensors that share bytes. Gaps, and any order in the file, are fine.
fn refuse_overlaps(tensors: &[Tensor<'_>]) -> Result<(), GgufError> {
    let mut by_offset: Vec<&Tensor<'_>> = Vec::new();
    by_offset.try_reserve_exact(tensors.len()).map_err(|_| no_memory(tensors))?;
    by_offset.extend(tensors);
    by_offset.sort_unstable_by_key(|tensor| (tensor.offset(), tensor.header_at()));
    for pair in by_offset.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        if earlier.end() > later.offset() {
            let kind = ErrorKind::Overlap { other: earlier.name().into(), end: earlier.end() };
            return Err(GgufError::new(Subject::tensor(later.name()), later.offset(), kind));
        }
    }
    Ok(())
}
