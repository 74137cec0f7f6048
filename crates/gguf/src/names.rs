//! What keys and tensors may be called, and [`NameIndex`], which finds them and what is there twice.

use std::collections::TryReserveError;

use crate::ErrorKind;

/// Bytes of the longest tensor name: ggml keeps 64, a NUL among them.
const MAX_TENSOR_NAME: usize = 63;

/// Something with a name.
pub(crate) trait Named {
    fn name(&self) -> &str;
}

/// The order of things by name. Sorting rather than hashing: one allocation, and no worst case that a
/// file could aim at (a million names sort in `n log n` comparisons whatever they are).
#[derive(Debug)]
pub(crate) struct NameIndex(Vec<usize>);

impl NameIndex {
    /// The index of `items`.
    pub(crate) fn new<T: Named>(items: &[T]) -> Result<Self, NoIndex> {
        let mut order: Vec<usize> = Vec::new();
        order.try_reserve_exact(items.len())?;
        order.extend(0..items.len());
        order.sort_unstable_by(|&a, &b| items[a].name().cmp(items[b].name()).then(a.cmp(&b)));
        let repeated =
            order.windows(2).map(|pair| (pair[0], pair[1])).filter(|&(a, b)| items[a].name() == items[b].name());
        match repeated.min_by_key(|&(_, second)| second) {
            Some((first, second)) => Err(NoIndex::Repeated { first, second }),
            None => Ok(Self(order)),
        }
    }

    /// The thing with this name; `items` are those of the index.
    pub(crate) fn find<'t, T: Named>(&self, items: &'t [T], name: &str) -> Option<&'t T> {
        let found = self.0.binary_search_by(|&position| items[position].name().cmp(name)).ok()?;
        Some(&items[self.0[found]])
    }
}

/// Why there is no index.
#[derive(Debug)]
pub(crate) enum NoIndex {
    /// A name is there twice: the positions of the first two things with the name whose repetition comes first.
    Repeated { first: usize, second: usize },
    /// There is no memory for it.
    OutOfMemory,
}

impl From<TryReserveError> for NoIndex {
    fn from(_: TryReserveError) -> Self {
        Self::OutOfMemory
    }
}

/// Checks the name of a tensor.
pub(crate) fn check_tensor_name(name: &str) -> Result<(), ErrorKind> {
    check_name(name, MAX_TENSOR_NAME)
}

/// Checks the length and the bytes of a key or a name.
pub(crate) fn check_name(name: &str, max: usize) -> Result<(), ErrorKind> {
    if name.is_empty() {
        Err(ErrorKind::EmptyName)
    } else if name.len() > max {
        Err(ErrorKind::LongName { len: name.len(), max })
    } else if name.contains('\0') {
        Err(ErrorKind::NulInName)
    } else {
        Ok(())
    }
}
