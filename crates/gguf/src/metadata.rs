//! [`Metadata`]: the keys of a file and their values.

use crate::cursor::Cursor;
use crate::names::{NameIndex, Named, NoIndex, check_name};
use crate::{ErrorKind, FromValue, GgufError, Subject, Value};

/// Bytes of the shortest entry: key of one byte, type, value of one byte.
pub(crate) const LEAST_ENTRY_BYTES: u64 = 8 + 1 + 4 + 1;

/// The entries in the order of the file, and their order by key.
#[derive(Debug)]
pub(crate) struct Metadata<'a> {
    entries: Vec<Entry<'a>>,
    by_key: NameIndex,
}

/// One entry. Its value is checked and decoded as far as it is fixed in size; strings and arrays are borrowed.
#[derive(Debug)]
struct Entry<'a> {
    key: &'a str,
    value: Value<'a>,
    key_at: u64,
    value_at: u64,
}

impl Named for Entry<'_> {
    fn name(&self) -> &str {
        self.key
    }
}

impl<'a> Metadata<'a> {
    /// Reads and checks `count` entries.
    pub(crate) fn read(cursor: &mut Cursor<'a>, count: u64) -> Result<Self, GgufError> {
        let mut entries = Vec::new(); // grows by what is read, not by the count
        for number in 0..count {
            let entry = Entry::read(cursor, number)?;
            entries.try_reserve(1).map_err(|_| GgufError::out_of_memory(entry.key_at))?;
            entries.push(entry);
        }
        let by_key = NameIndex::new(&entries).map_err(|error| match error {
            NoIndex::Repeated { first, second } => {
                let (first, second) = (&entries[first], &entries[second]);
                GgufError::new(Subject::key(second.key), second.key_at, ErrorKind::Duplicate { first: first.key_at })
            }
            NoIndex::OutOfMemory => GgufError::out_of_memory(cursor.at()),
        })?;
        Ok(Self { entries, by_key })
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&'a str, Value<'a>)> {
        self.entries.iter().map(|entry| (entry.key, entry.value))
    }

    pub(crate) fn value(&self, key: &str) -> Option<Value<'a>> {
        Some(self.by_key.find(&self.entries, key)?.value)
    }

    pub(crate) fn get<T: FromValue<'a>>(&self, key: &str) -> Result<Option<T>, GgufError> {
        let Some(entry) = self.by_key.find(&self.entries, key) else { return Ok(None) };
        T::from_value(entry.value).map(Some).map_err(|mismatch| entry.error(ErrorKind::WrongType(mismatch)))
    }

    /// An error about the value of a key that is there.
    pub(crate) fn error(&self, key: &str, kind: ErrorKind) -> GgufError {
        match self.by_key.find(&self.entries, key) {
            Some(entry) => entry.error(kind),
            None => GgufError::missing(Subject::key(key)),
        }
    }
}

impl<'a> Entry<'a> {
    /// Reads and checks the `number`-th entry.
    ///
    /// ```text
    /// | key: length u64, bytes | type u32 | value |
    /// ```
    fn read(cursor: &mut Cursor<'a>, number: u64) -> Result<Self, GgufError> {
        let key_at = cursor.at();
        let key = cursor.string().map_err(|fault| fault.of(Subject::KeyNumber(number)))?;
        // The specification allows 65535 bytes; a longer key harms nobody.
        check_name(key, usize::MAX).map_err(|kind| GgufError::new(Subject::KeyNumber(number), key_at, kind))?;
        let value_at = cursor.at();
        let value = Value::read(cursor).map_err(|fault| fault.of(Subject::key(key)))?;
        Ok(Self { key, value, key_at, value_at })
    }

    fn error(&self, kind: ErrorKind) -> GgufError {
        GgufError::new(Subject::key(self.key), self.value_at, kind)
    }
}
