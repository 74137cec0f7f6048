//! [`Cursor`]: reads fields one after another and never past the end.

use crate::{ErrorKind, GgufError, Subject};

/// Numbers from here on have a byte that is not ASCII, or more than one byte.
const ASCII: u64 = 128;

/// Bytes of strings that are checked together: what is in a cache from walking over them.
const CHECKED_AT_ONCE: usize = 1 << 14;

/// A fault at a byte, before it is known in which key or tensor.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: u64,
    pub(crate) kind: ErrorKind,
}

impl Fault {
    pub(crate) fn of(self, subject: Subject) -> GgufError {
        GgufError::new(subject, self.at, self.kind)
    }
}

/// A position in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Bytes not yet read.
    pub(crate) fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// The bytes not yet read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The bytes read since `start`, an earlier position.
    pub(crate) fn since(&self, start: u64) -> &'a [u8] {
        usize::try_from(start).ok().and_then(|start| self.bytes.get(start..self.at)).unwrap_or_default()
    }

    /// The next `len` bytes; a fault, and no step, where there are fewer.
    #[inline]
    pub(crate) fn take(&mut self, what: &'static str, len: u64) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(len).ok().and_then(|len| self.bytes[self.at..].get(..len));
        let Some(taken) = taken else {
            return Err(Fault { at: self.at(), kind: ErrorKind::PastEnd { what, needed: len, left: self.left() } });
        };
        self.at += taken.len();
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(what, N as u64)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    #[inline]
    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length in 8 bytes, then that many bytes of UTF-8.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a str, Fault> {
        let len = self.u64("string length")?;
        let start = self.at();
        let bytes = self.take("string", len)?;
        core::str::from_utf8(bytes)
            .map_err(|error| Fault { at: start + error.valid_up_to() as u64, kind: ErrorKind::NotUtf8 })
    }

    /// Steps over `count` strings, all of them checked.
    ///
    /// A length below 128 is eight bytes of ASCII, so that strings and the lengths between them are UTF-8 together where each
    /// string is, and one is not where they are not: no character lies across a byte of ASCII. Many short strings are checked at
    /// once, which takes a fraction of the time.
    pub(crate) fn skip_strings(&mut self, count: u64) -> Result<(), Fault> {
        let mut unchecked = self.at;
        for _ in 0..count {
            let length_at = self.at;
            let step = self.u64("string length").and_then(|len| Ok((len, self.take("string", len)?)));
            let is_long = step.as_ref().map_or(true, |&(len, _)| len >= ASCII);
            if is_long || length_at - unchecked >= CHECKED_AT_ONCE {
                self.check_utf8(unchecked, length_at)?;
                unchecked = length_at + size_of::<u64>();
            }
            step?;
        }
        self.check_utf8(unchecked, self.at)
    }

    /// Checks the text between two positions.
    fn check_utf8(&self, start: usize, end: usize) -> Result<(), Fault> {
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        simdutf8::compat::from_utf8(bytes)
            .map(|_| ())
            .map_err(|error| Fault { at: (start + error.valid_up_to()) as u64, kind: ErrorKind::NotUtf8 })
    }

    /// Refuses a count, stored at byte `at`, of things of at least `least` bytes each that the bytes left
    /// cannot hold.
    ///
    /// Nothing is ever reserved by a count; this says early, and clearly, that a count is wrong.
    pub(crate) fn hold(&self, at: u64, what: &'static str, count: u64, least: u64) -> Result<(), Fault> {
        if count.checked_mul(least).is_some_and(|bytes| bytes <= self.left()) {
            return Ok(());
        }
        Err(Fault { at, kind: ErrorKind::TooMany { what, count, left: self.left() } })
    }
}
