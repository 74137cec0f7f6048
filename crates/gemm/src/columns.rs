//! [`ColumnsMut`]: columns of a row-major matrix that are written by one thread alone.
#![allow(unsafe_code, reason = "rows of disjoint column ranges are disjoint memory, which slices cannot express")]

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

/// Exclusive access to some columns of a row-major `y[m,n]`.
///
/// Like `&mut [f32]`, which can be split into disjoint pieces, but the pieces are column ranges: each row's part is
/// contiguous, the parts of different rows are `n` apart.
///
/// ```
/// let mut y = [0.0; 6]; // m = 2, n = 3
/// let mut rest = keepq_gemm::ColumnsMut::new(&mut y, 2, 3);
/// let mut first = rest.take_front(1).unwrap();
/// first.row_mut(1)[0] = 1.0;
/// rest.row_mut(1).copy_from_slice(&[2.0, 3.0]);
/// assert_eq!(y, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
/// ```
#[derive(Debug)]
pub struct ColumnsMut<'y> {
    start: *mut f32,
    m: usize,
    n: usize,
    columns: Range<usize>,
    owner: PhantomData<&'y mut [f32]>,
}

// SAFETY: a `ColumnsMut` is exclusive access to f32 elements, as `&'y mut [f32]` is, which is Send.
unsafe impl Send for ColumnsMut<'_> {}

impl<'y> ColumnsMut<'y> {
    /// All columns of `y`, which has `m` rows of `n` elements.
    ///
    /// # Panics
    /// Where `y` has another length.
    #[must_use]
    pub fn new(y: &'y mut [f32], m: usize, n: usize) -> Self {
        assert_eq!(Some(y.len()), m.checked_mul(n), "y of {m} rows of {n}");
        Self { start: y.as_mut_ptr(), m, n, columns: 0..n, owner: PhantomData }
    }

    /// Splits off the first columns, at most `count`; `None` where none are left.
    pub fn take_front(&mut self, count: usize) -> Option<Self> {
        let end = self.columns.end.min(self.columns.start.saturating_add(count));
        let front = self.columns.start..end;
        self.columns.start = end;
        (!front.is_empty()).then_some(Self { columns: front, ..*self })
    }

    /// Which columns of the whole these are.
    #[must_use]
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Rows.
    #[must_use]
    pub const fn m(&self) -> usize {
        self.m
    }

    /// The part of row `t` in these columns.
    ///
    /// # Panics
    /// Where `t` is not under `m`.
    pub fn row_mut(&mut self, t: usize) -> &mut [f32] {
        assert!(t < self.m, "row {t} of {}", self.m);
        // SAFETY: `start` points at `m * n` elements that `new` borrowed exclusively for 'y. `t < m` and `columns`
        // lies within `0..n` (`new` starts with that, `take_front` only shrinks it), so the part is within them.
        // No other part overlaps: two `ColumnsMut` of one `y` have disjoint columns, as `take_front` gives each
        // column to one side only and the type is not Copy or Clone; and `&mut self` keeps one part at a time.
        unsafe { slice::from_raw_parts_mut(self.start.add(t * self.n + self.columns.start), self.columns.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_belongs_to_one_piece() {
        for (m, n, count) in [(1, 7, 3), (3, 8, 4), (2, 5, 9), (0, 4, 2), (4, 0, 2)] {
            let mut y = vec![0.0; m * n];
            let mut rest = ColumnsMut::new(&mut y, m, n);
            let mut pieces: Vec<_> = std::iter::from_fn(|| rest.take_front(count)).collect();
            assert_eq!(pieces.len(), n.div_ceil(count));
            std::thread::scope(|scope| {
                for piece in &mut pieces {
                    scope.spawn(|| (0..piece.m()).for_each(|t| piece.row_mut(t).iter_mut().for_each(|v| *v += 1.0)));
                }
            });
            assert!(y.iter().all(|&v| v == 1.0));
        }
    }

    #[test]
    #[should_panic(expected = "row 2 of 2")]
    fn a_row_that_is_not_there_is_refused() {
        ColumnsMut::new(&mut [0.0; 4], 2, 2).row_mut(2);
    }
}
