//! [`KvLayout`]: how keys and values lie in memory.

use keepq_blocks::F16;

use crate::{LANES, Target};

/// Positions of a block. Blocks are aligned to absolute positions: the first is `0..64`.
pub(super) const BLOCK: usize = 64;

/// Eights of positions in a block.
pub(super) const EIGHTS: usize = BLOCK / LANES;

/// How the keys and values of a layer lie in memory, as binary16: block after block of 64 positions, in each head after
/// head.
///
/// ```text
/// block 0                 block 1                 …
/// head 0  head 1  …       head 0  head 1  …
///
/// keys of a head in a block          values of a head in a block
///   element 0 of positions 0..64       position 0: all elements
///   element 1 of positions 0..64       position 1: all elements
///   …                                  …
/// ```
///
/// So eight scores are computed side by side, a lane a position, and eight sums of values, a lane an element: nothing is added
/// up across lanes. Elements are rounded up to eights; the last block is whole, however few of its positions are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvLayout {
    /// Heads of keys, and of values.
    pub heads: usize,
    /// Elements of a head.
    pub head: usize,
}

impl KvLayout {
    /// Elements of the keys, and as many of the values, of `positions`; `None` where no number holds that many.
    ///
    /// ```
    /// let layout = keepq_dot::rows::KvLayout { heads: 3, head: 64 };
    /// assert_eq!(layout.elements(65), Some(2 * 64 * 3 * 64));
    /// ```
    #[must_use]
    pub fn elements(self, positions: usize) -> Option<usize> {
        let block = self.heads.checked_mul(self.head.checked_next_multiple_of(LANES)?)?.checked_mul(BLOCK)?;
        positions.div_ceil(BLOCK).checked_mul(block)
    }

    /// Eights of a head's elements.
    pub(super) const fn eights(self) -> usize {
        self.head.div_ceil(LANES)
    }

    /// Where a head's part of a block begins, in eights.
    pub(super) const fn start(self, block: usize, head: usize) -> usize {
        (block * self.heads + head) * self.eights() * BLOCK
    }

    /// Rounds `rows` of keys, a row a position with all heads, to binary16, and stores them from position `first` on.
    ///
    /// # Panics
    /// Where `to` has fewer [`elements`](Self::elements) than these positions need.
    pub fn store_keys<T: Target>(self, target: T, first: usize, rows: &[f32], to: &mut [F16]) {
        let to = to.as_chunks_mut::<LANES>().0;
        target.run(
            #[inline(always)]
            || {
                self.each_eight(rows, |t, head, i, eight| {
                    let (block, position) = ((first + t) / BLOCK, (first + t) % BLOCK);
                    let narrow = target.narrow_f16(target.load(&eight));
                    let part = &mut to[self.start(block, head) + i * BLOCK..][..BLOCK];
                    for (row, element) in part.chunks_exact_mut(EIGHTS).zip(narrow) {
                        row[position / LANES][position % LANES] = element;
                    }
                });
            },
        );
    }

    /// [`store_keys`](Self::store_keys) for values.
    ///
    /// # Panics
    /// As it does.
    pub fn store_values<T: Target>(self, target: T, first: usize, rows: &[f32], to: &mut [F16]) {
        let to = to.as_chunks_mut::<LANES>().0;
        target.run(
            #[inline(always)]
            || {
                self.each_eight(rows, |t, head, i, eight| {
                    let (block, position) = ((first + t) / BLOCK, (first + t) % BLOCK);
                    let at = self.start(block, head) + position * self.eights() + i;
                    to[at] = target.narrow_f16(target.load(&eight));
                });
            },
        );
    }

    /// Calls `store(row, head, i, eight)` with each eight elements, the last of a head with zeros for those that lack.
    #[inline(always)]
    fn each_eight(self, rows: &[f32], mut store: impl FnMut(usize, usize, usize, [f32; LANES])) {
        for (t, row) in rows.chunks_exact(self.heads * self.head).enumerate() {
            for (h, head) in row.chunks_exact(self.head).enumerate() {
                let (eights, rest) = head.as_chunks();
                for (i, eight) in eights.iter().enumerate() {
                    store(t, h, i, *eight);
                }
                if !rest.is_empty() {
                    let mut padded = [0.0; LANES];
                    padded[..rest.len()].copy_from_slice(rest);
                    store(t, h, eights.len(), padded);
                }
            }
        }
    }
}

/// The keys and values of a layer, of which one head is read.
#[derive(Clone, Copy, Debug)]
pub struct KvHead<'a> {
    /// How both lie.
    pub layout: KvLayout,
    /// The head.
    pub head: usize,
    /// Keys of all positions.
    pub keys: &'a [F16],
    /// Values of all positions.
    pub values: &'a [F16],
}

impl<'a> KvHead<'a> {
    /// Keys and values of a block.
    pub(super) fn block(&self, block: usize) -> [&'a [[F16; LANES]]; 2] {
        let part = |all: &'a [F16]| {
            let eights: &[[F16; LANES]] = all.as_chunks().0;
            &eights[self.layout.start(block, self.head)..][..self.layout.eights() * BLOCK]
        };
        [part(self.keys), part(self.values)]
    }
}
