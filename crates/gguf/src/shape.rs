//! [`Shape`]: checked dimensions of a tensor, and the bytes they take.

use keepq_blocks::GgmlType;

use crate::ErrorKind;

/// Dimensions of a tensor at most.
pub(crate) const MAX_DIMS: usize = 4;

/// 1 to 4 dimensions from 1 up, whose product fits in 63 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// 1 where there is no such dimension.
    dims: [u64; MAX_DIMS],
    count: usize,
}

impl Shape {
    /// Checks `dims`, the fastest first.
    pub(crate) fn new(dims: &[u64]) -> Result<Self, ErrorKind> {
        if !(1..=MAX_DIMS).contains(&dims.len()) {
            return Err(ErrorKind::DimensionCount { found: dims.len() as u64 });
        }
        for (index, &found) in dims.iter().enumerate() {
            if found == 0 || !fits_i64(found) {
                return Err(ErrorKind::Dimension { index, found });
            }
        }
        let elements = dims.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim));
        if !elements.is_some_and(fits_i64) {
            return Err(ErrorKind::TooLarge { dims: dims.into() });
        }
        let mut shape = Self { dims: [1; MAX_DIMS], count: dims.len() };
        shape.dims[..dims.len()].copy_from_slice(dims);
        Ok(shape)
    }

    pub(crate) fn dims(&self) -> &[u64] {
        &self.dims[..self.count]
    }

    /// Elements of a row.
    pub(crate) const fn k(&self) -> u64 {
        self.dims[0]
    }

    /// Rows of a matrix.
    pub(crate) const fn n(&self) -> u64 {
        self.dims[1]
    }

    /// Matrices.
    pub(crate) const fn slices(&self) -> u64 {
        self.dims[2] * self.dims[3]
    }

    /// That a tensor of this shape cannot be addressed.
    pub(crate) fn too_large(&self) -> ErrorKind {
        ErrorKind::TooLarge { dims: self.dims().into() }
    }

    /// Bytes of a tensor of type `ty`: whole blocks, rows without padding.
    pub(crate) fn byte_size(&self, ty: GgmlType) -> Result<u64, ErrorKind> {
        let block_len = ty.block_len() as u64;
        if !self.k().is_multiple_of(block_len) {
            return Err(ErrorKind::RaggedRow { ty, k: self.k() });
        }
        (self.k() / block_len)
            .checked_mul(ty.block_bytes() as u64)
            .and_then(|row| row.checked_mul(self.n())?.checked_mul(self.slices()))
            .filter(|&size| fits_i64(size))
            .ok_or_else(|| self.too_large())
    }
}

/// Sizes and ends of files are signed numbers to every system.
pub(crate) fn fits_i64(size: u64) -> bool {
    i64::try_from(size).is_ok()
}
