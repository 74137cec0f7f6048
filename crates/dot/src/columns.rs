//! Bytes of eight rows side by side, and loops that are written out.

use crate::octets::Octet;
use crate::{Quantized, Target};

/// The columns of the 32 nibbles of the sixteen bytes from `at` on: the low ones, then the high ones.
#[inline(always)]
pub(crate) fn nibbles<T: Target, B: Quantized>(target: T, octet: impl Octet<B>, at: usize) -> [T::Bytes; 8] {
    let [a, b, c, d] = octet.words(target, at);
    let nibble = |x, shift| target.field(x, shift, 15);
    [nibble(a, 0), nibble(b, 0), nibble(c, 0), nibble(d, 0), nibble(a, 4), nibble(b, 4), nibble(c, 4), nibble(d, 4)]
}

/// Calls `body` with 0 to 7, each call a copy of its own: shifts and places that depend on the number are known when it is
/// compiled, and arrays that it is an index of stay in registers. A loop may be left rolled.
///
/// ```
/// let mut numbers = Vec::new();
/// keepq_dot::eight(|i| numbers.push(i));
/// assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
/// ```
#[inline(always)]
pub fn eight(mut body: impl FnMut(usize)) {
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
