//! Maps of files: the only unsafe code of this crate, in two calls.
#![expect(unsafe_code, reason = "mapping is unsafe by its nature, and so is advice about pages")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file, for as long as it is not changed: the contract of [`Source::map`](crate::Source::map).
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and private to `Source`, which owns it as long as anything borrows from
    // it, so that its addresses stay valid. What remains is that the bytes behind `&[u8]` must not change,
    // which no program can enforce on a file; it is the documented contract of `Source::map`, and
    // `Source::read` is there for those who cannot keep it. Any value of the bytes is legal: the parser
    // takes none on trust, and blocks are plain old data.
    unsafe { Mmap::map(file) }
}

/// Advises the system that these bytes are not used soon.
#[cfg(target_os = "linux")]
pub(crate) fn release(map: &Mmap, start: usize, len: usize) {
    use memmap2::UncheckedAdvice;

    // SAFETY: what is unsafe about this advice is that it drops what was written to the pages. Nobody can have written to these: the
    // map is read-only and never was anything else. It stays mapped, and a page that is touched again comes from the file, with the
    // bytes that it had, since the file does not change while the source lives (the contract of `Source::map`).
    //
    // It is advice: where the system cannot follow it, memory stays as it is.
    let _advice = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, len) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn release(_: &Mmap, _: usize, _: usize) {}
