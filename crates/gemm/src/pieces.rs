//! [`Part`]: what is left of one of several outputs that are computed in one run, and the [`Piece`]s that are taken from them.

use keepq_simd::Tier;

use crate::operands::Job;
use crate::{ColumnsMut, MatmulError};

/// An output that is to be computed.
#[derive(Debug)]
pub(crate) struct Output<'y> {
    /// Rows, columns, and the elements of the sums that each of its elements is.
    pub(crate) shape: (usize, usize, usize),
    /// The tier whose kernels compute it.
    pub(crate) tier: Tier,
    pub(crate) y: &'y mut [f32],
}

impl Output<'_> {
    /// That `y` has the elements that the shape says.
    pub(crate) fn check(&self) -> Result<(), MatmulError> {
        let ((m, n, _), found) = (self.shape, self.y.len());
        if m.checked_mul(n) == Some(found) { Ok(()) } else { Err(MatmulError::WrongOutput { m, n, found }) }
    }

    pub(crate) const fn multiply_adds(&self) -> usize {
        self.y.len().saturating_mul(self.shape.2)
    }
}

/// The columns of an output that no thread has taken yet.
#[derive(Debug)]
pub(crate) struct Part<'y> {
    pub(crate) tier: Tier,
    columns: ColumnsMut<'y>,
    /// Columns that should not be divided.
    grain: usize,
    /// Bytes of weights that a column meets, counted for each token, by all jobs: every row of a job's weights has the same
    /// bytes, so that equal numbers of columns are equal shares of all weights.
    bytes_a_column: usize,
}

/// Some columns of an output, for one thread.
#[derive(Debug)]
pub(crate) struct Piece<'y> {
    pub(crate) tier: Tier,
    pub(crate) columns: ColumnsMut<'y>,
}

impl<'y> Part<'y> {
    /// All columns of an output that has been checked, and no job yet.
    pub(crate) fn new(output: Output<'y>) -> Self {
        let Output { shape: (m, n, _), tier, y } = output;
        Self { tier, columns: ColumnsMut::new(y, m, n), grain: 1, bytes_a_column: 0 }
    }

    /// Counts the weights of one of the output's jobs.
    pub(crate) fn add(&mut self, job: &Job<'_>) {
        self.grain = self.grain.max(job.grain(self.tier));
        self.bytes_a_column = self.bytes_a_column.saturating_add(job.bytes_a_column());
    }

    /// Bytes of a column's weights, of which one is counted where there are none.
    fn bytes(&self) -> usize {
        self.bytes_a_column.max(1)
    }
}

/// Bytes of weights, counted for each token, of all columns that are left.
pub(crate) fn bytes_left(parts: &[Part<'_>]) -> usize {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.columns.columns().len().saturating_mul(part.bytes())))
}

/// Splits off the first columns, whose weights are about so many bytes: the rest of one part, and on with the next. `None`
/// where no columns are left.
pub(crate) fn take_front<'y, const N: usize>(
    parts: &mut [Part<'y>; N],
    mut bytes: usize,
) -> Option<[Option<Piece<'y>>; N]> {
    let mut any = false;
    let pieces = parts.each_mut().map(|part| {
        // None where all bytes are taken; all where there is no such multiple.
        let count = bytes.div_ceil(part.bytes()).checked_next_multiple_of(part.grain).unwrap_or(usize::MAX);
        let columns = part.columns.take_front(count)?;
        bytes = bytes.saturating_sub(columns.columns().len().saturating_mul(part.bytes()));
        any = true;
        Some(Piece { tier: part.tier, columns })
    });
    any.then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(y: &mut [f32], grain: usize, bytes_a_column: usize) -> Part<'_> {
        let shape = (1, y.len(), 0);
        Part { grain, bytes_a_column, ..Part::new(Output { shape, tier: Tier::PORTABLE, y }) }
    }

    #[test]
    fn pieces_are_bytes_of_weights_and_go_on_in_the_next_part() {
        let (mut a, mut b, mut c) = ([0.0; 20], [0.0; 3], [0.0; 40]);
        let mut parts = [part(&mut a, 4, 10), part(&mut b, 4, 100), part(&mut c, 8, 5)];
        let mut taken = Vec::new();
        let mut left = vec![bytes_left(&parts)];
        while let Some(pieces) = take_front(&mut parts, 150) {
            taken.push(pieces.map(|piece| piece.map_or(0..0, |piece| piece.columns.columns())));
            left.push(bytes_left(&parts));
        }
        // 16 of 10 bytes; then 40 bytes and all of the second; then 30 of 5 bytes, rounded up to eights; then the rest.
        let want = [[0..16, 0..0, 0..0], [16..20, 0..3, 0..0], [0..0, 0..0, 0..32], [0..0, 0..0, 32..40]];
        assert_eq!(taken, want);
        assert_eq!(left, [700, 540, 200, 40, 0]);
    }

    #[test]
    fn columns_without_weights_are_taken_too() {
        let (mut a, mut b) = ([0.0; 0], [0.0; 7]);
        let mut parts = [part(&mut a, 16, 9), part(&mut b, 16, 0)];
        assert_eq!(bytes_left(&parts), 7);
        let pieces = take_front(&mut parts, usize::MAX).expect("seven columns");
        assert_eq!(pieces.map(|piece| piece.map(|piece| piece.columns.columns())), [None, Some(0..7)]);
        assert!(take_front(&mut parts, 1).is_none());
    }
}
