//! [`Weights`]: the checked view of records, and their product with int8 activations.

use super::pack::record_bytes;
use super::{FORMAT, MAX_BLOCK, ROWS, packed_bytes};
use crate::error::check_length;
use crate::{Acts, LayoutError};

/// Weights `w[n,k]` in records, with their scales and zero points.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    n: usize,
    k: usize,
    group: usize,
    records: &'a [u8],
    scales: &'a [f32],
    zeros: &'a [i8],
}

/// 32 rows by [`Weights::block`] codes.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// 64 bytes for each four k.
    pub nibbles: &'a [[u8; 64]],
    /// Sums of codes less the zero point, which [`Weights::multiply`] does not need.
    pub compensations: &'a [[u8; 4]; ROWS],
    /// The scale of each row.
    pub scales: &'a [f32; ROWS],
    /// The zero point of each row.
    pub zeros: &'a [i8; ROWS],
}

impl<'a> Weights<'a> {
    /// A view of records, and of scales and zero points in the order `[n / 32][k / group][32]`.
    ///
    /// The compensations are not looked at: [`check_compensations`](Self::check_compensations) does that.
    ///
    /// # Errors
    /// Those of [`packed_bytes`] for the shape, and [`LayoutError::Length`] of the first slice that is not as the shape asks for.
    pub fn new(
        (n, k): (usize, usize),
        group: usize,
        records: &'a [u8],
        scales: &'a [f32],
        zeros: &'a [i8],
    ) -> Result<Self, LayoutError> {
        check_length(FORMAT, "bytes of records", packed_bytes(n, k, group)?, records.len())?;
        check_length(FORMAT, "scales", n * (k / group), scales.len())?;
        check_length(FORMAT, "zero points", n * (k / group), zeros.len())?;
        Ok(Self { n, k, group, records, scales, zeros })
    }

    /// Rows: output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Codes of a row: the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Codes of a row that share a scale and a zero point.
    #[must_use]
    pub const fn group(&self) -> usize {
        self.group
    }

    /// Codes of a row in a record: the group, or 128 where it is larger.
    #[must_use]
    pub const fn block(&self) -> usize {
        if self.group < MAX_BLOCK { self.group } else { MAX_BLOCK }
    }

    /// Bytes of records, scales and zero points: all that the weights take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.records.len() + size_of_val(self.scales) + self.zeros.len()
    }

    /// The records of rows `32 * rows` to `32 * rows + 31`, k ascending.
    ///
    /// # Panics
    /// Where there are no such rows.
    #[inline]
    pub fn records(&self, rows: usize) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let (block, group, groups) = (self.block(), self.group, self.k / self.group);
        let bytes = self.k / block * record_bytes(group);
        let records = self.records[rows * bytes..][..bytes].chunks_exact(record_bytes(group));
        let scales = self.scales[rows * groups * ROWS..][..groups * ROWS].as_chunks::<ROWS>().0;
        let zeros = self.zeros[rows * groups * ROWS..][..groups * ROWS].as_chunks::<ROWS>().0;
        records.enumerate().filter_map(move |(i, record)| {
            let (nibbles, compensations) = record.split_at(block * ROWS / 2);
            Some(Record {
                nibbles: nibbles.as_chunks().0,
                compensations: compensations.as_chunks().0.as_array()?,
                scales: &scales[i * block / group],
                zeros: &zeros[i * block / group],
            })
        })
    }

    /// The code at `w[n,k]`; `None` where there is no such row or column.
    #[must_use]
    pub fn code(&self, n: usize, k: usize) -> Option<u8> {
        if n >= self.n || k >= self.k {
            return None;
        }
        let (row, k_in) = (n % ROWS, k % self.block());
        let record = (n / ROWS * (self.k / self.block()) + k / self.block()) * record_bytes(self.group);
        let byte = self.records[record + k_in / 4 * 64 + row / 16 * 32 + row % 8 * 4 + k_in % 4];
        Some(byte >> (row % 16 / 8 * 4) & 15)
    }

    /// The scale of `w[n,k]`; `None` where there is no such row or column.
    #[must_use]
    pub fn scale(&self, n: usize, k: usize) -> Option<f32> {
        Some(self.scales[self.of_group(n, k)?])
    }

    /// The zero point of `w[n,k]`; `None` where there is no such row or column.
    #[must_use]
    pub fn zero(&self, n: usize, k: usize) -> Option<i8> {
        Some(self.zeros[self.of_group(n, k)?])
    }

    fn of_group(&self, n: usize, k: usize) -> Option<usize> {
        let groups = self.k / self.group;
        (n < self.n && k < self.k).then(|| (n / ROWS * groups + k / self.group) * ROWS + n % ROWS)
    }

    /// Writes all codes, row by row, to `codes`: `n * k` of them, one to a byte.
    ///
    /// # Errors
    /// [`LayoutError::Length`] where `codes` has another length.
    pub fn unpack(&self, codes: &mut [u8]) -> Result<(), LayoutError> {
        check_length(FORMAT, "codes", self.n * self.k, codes.len())?;
        for rows in 0..self.n / ROWS {
            for (i, record) in self.records(rows).enumerate() {
                for (at, byte) in record.nibbles.as_flattened().iter().enumerate() {
                    let row = rows * ROWS + at / 32 % 2 * 16 + at / 4 % 8;
                    let k = i * self.block() + at / 64 * 4 + at % 4;
                    codes[row * self.k + k] = byte & 15;
                    codes[(row + 8) * self.k + k] = byte >> 4;
                }
            }
        }
        Ok(())
    }

    /// Compares each compensation with the codes and zero points that it sums up.
    ///
    /// # Errors
    /// [`LayoutError::Compensation`] for the first that is another number.
    pub fn check_compensations(&self) -> Result<(), LayoutError> {
        for rows in 0..self.n / ROWS {
            for (block, record) in self.records(rows).enumerate() {
                let mut sums = record.zeros.map(|zero| -i32::from(zero) * self.block() as i32);
                for (at, byte) in record.nibbles.as_flattened().iter().enumerate() {
                    let row = at / 32 % 2 * 16 + at / 4 % 8;
                    sums[row] += i32::from(byte & 15);
                    sums[row + 8] += i32::from(byte >> 4);
                }
                for (i, (expected, found)) in sums.into_iter().zip(record.compensations).enumerate() {
                    let (row, found) = (rows * ROWS + i, i32::from_le_bytes(*found));
                    if expected != found {
                        return Err(LayoutError::Compensation { format: FORMAT, row, block, expected, found });
                    }
                }
            }
        }
        Ok(())
    }

    /// `y[t * n + r]`: all tokens by all rows, overwritten; the definition of a W4A8 result.
    ///
    /// By records ascending in k, from +0: `isum = Σ x * (code - zero)` exactly, then
    /// `y = y + (float(isum) * scale of the token) * scale of the row's group`, each operation rounded. PyTorch's operator rounds the result to
    /// bf16 ([`narrow`](crate::narrow)).
    ///
    /// # Panics
    /// Where the activations have another k, or `y` is not `m * n` long.
    pub fn multiply(&self, x: Acts<'_>, y: &mut [f32]) {
        assert!(x.k() == self.k && y.len() == x.m() * self.n, "x[{},{}], y of {}", x.m(), x.k(), y.len());
        for t in 0..x.m() {
            for n in 0..self.n {
                y[t * self.n + n] = self.dot(x.codes(t), x.scale(t), n);
            }
        }
    }

    fn dot(&self, x: &[i8], x_scale: f32, n: usize) -> f32 {
        let mut y = 0.0;
        for (i, x) in x.chunks_exact(self.block()).enumerate() {
            let first = i * self.block();
            let (Some(scale), Some(zero)) = (self.scale(n, first), self.zero(n, first)) else { return y };
            let level = |k| i32::from(self.code(n, first + k).unwrap_or(0)) - i32::from(zero);
            let isum: i32 = x.iter().enumerate().map(|(k, &x)| i32::from(x) * level(k)).sum();
            y += isum as f32 * x_scale * scale;
        }
        y
    }
}
