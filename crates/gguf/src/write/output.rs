//! What stands between a [`Writer`](super::Writer) and its output.

use std::io::{self, BufWriter, Write};

/// Bytes gathered before they go to the output: tensor data may be streamed in small pieces.
const BUFFER: usize = 1 << 20;

/// The output and the bytes written to it so far.
pub(super) struct Output<W: Write> {
    inner: BufWriter<W>,
    len: u64,
}

impl<W: Write> Output<W> {
    pub(super) fn new(out: W) -> Self {
        Self { inner: BufWriter::with_capacity(BUFFER, out), len: 0 }
    }

    /// Bytes written.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Zeros to the next multiple of the alignment.
    pub(super) fn pad(&mut self, alignment: u64) -> io::Result<()> {
        let padding = self.len.next_multiple_of(alignment) - self.len;
        self.len += io::copy(&mut io::Read::take(io::repeat(0), padding), &mut self.inner)?;
        Ok(())
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Lets no more than `len` bytes through.
pub(super) struct Exact<'o, W: Write> {
    out: &'o mut Output<W>,
    len: u64,
    given: u64,
    out_failed: bool,
}

impl<'o, W: Write> Exact<'o, W> {
    pub(super) fn new(out: &'o mut Output<W>, len: u64) -> Self {
        Self { out, len, given: 0, out_failed: false }
    }

    /// Bytes let through, and those of the piece that was too much.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Whether the output refused what was last let through.
    pub(super) fn out_failed(&self) -> bool {
        self.out_failed
    }
}

impl<W: Write> Write for Exact<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let given = self.given.saturating_add(bytes.len() as u64);
        if given > self.len {
            self.given = given;
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more data than the tensor has bytes"));
        }
        let result = self.out.write(bytes);
        self.out_failed = result.is_err();
        let written = result?;
        self.given += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.out_failed = result.is_err();
        result
    }
}
