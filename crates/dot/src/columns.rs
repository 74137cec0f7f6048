//! Bytes of eight rows side by side: of each row four bytes in turn, then the next four.

use crate::{LANES, Target};

/// A part of each of eight rows' blocks. Not `map`, which is not inlined reliably.
#[inline(always)]
pub(crate) fn of_each<'b, B, F: ?Sized>(
    [r, s, t, u, v, w, x, y]: [&'b B; LANES],
    field: impl Fn(&'b B) -> &'b F,
) -> [&'b F; LANES] {
    [field(r), field(s), field(t), field(u), field(v), field(w), field(x), field(y)]
}

/// The columns of four of 32 bytes.
#[inline(always)]
pub(crate) fn columns<T: Target>(target: T, rows: [&[u8; 32]; LANES]) -> [T::Bytes; 8] {
    let [a, b, c, d] = target.words(of_each(rows, |row| &row.as_chunks().0[0]));
    let [e, f, g, h] = target.words(of_each(rows, |row| &row.as_chunks().0[1]));
    [a, b, c, d, e, f, g, h]
}

/// The columns of the 32 nibbles of sixteen bytes: the low ones, then the high ones.
#[inline(always)]
pub(crate) fn nibbles<T: Target>(target: T, rows: [&[u8; 16]; LANES]) -> [T::Bytes; 8] {
    let [a, b, c, d] = target.words(rows);
    let nibble = |x, shift| target.field(x, shift, 15);
    [nibble(a, 0), nibble(b, 0), nibble(c, 0), nibble(d, 0), nibble(a, 4), nibble(b, 4), nibble(c, 4), nibble(d, 4)]
}

/// The columns of four of the first sixteen bytes of blocks, which are longer.
#[inline(always)]
pub(crate) fn headers<T: Target, B: bytemuck::Pod>(target: T, rows: [&B; LANES]) -> [T::Bytes; 4] {
    target.words(of_each(rows, |row| bytemuck::bytes_of(row).first_chunk().expect("blocks are longer")))
}

/// Calls `body` with 0 to 7, each call a copy of its own: shifts and places that depend on the number are known when it is
/// compiled, and arrays that it is an index of stay in registers.
#[inline(always)]
pub(crate) fn eight(mut body: impl FnMut(usize)) {
    body(0);
    body(1);
    body(2);
    body(3);
    body(4);
    body(5);
    body(6);
    body(7);
}

/// [`eight`] for 0 to 3.
#[inline(always)]
pub(crate) fn four(mut body: impl FnMut(usize)) {
    body(0);
    body(1);
    body(2);
    body(3);
}
