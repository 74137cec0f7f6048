//! [`Tensor`]: what the header says of a tensor, and its bytes in the file.

use keepq_blocks::{GgmlType, Matrix, TypeIdError};

use crate::cursor::{Cursor, Fault};
use crate::names::{Named, check_tensor_name};
use crate::shape::{MAX_DIMS, Shape, fits_i64};
use crate::{ErrorKind, GgufError, Subject};

/// Bytes of the shortest tensor header: name of one byte, one dimension.
pub(crate) const LEAST_TENSOR_BYTES: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor of the file: name, type, dimensions, and a view of its bytes.
///
/// Dimensions stand in the order of the file, the fastest first: `dims[0]` is `k`, the elements of a row;
/// `dims[1]` is `n`, the rows; further ones stack matrices (the experts of a mixture).
///
/// A type id that ggml removed, or that is newer than this version, does not keep a file from opening: such
/// a tensor is listed, its size is not known, and only asking for its data is an error.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    name: &'a str,
    type_id: u32,
    shape: Shape,
    /// Byte of the data: in the data section until [`shift`](Self::shift), then in the file.
    offset: u64,
    /// None where the type is unknown.
    byte_size: Option<u64>,
    /// Empty where the type is unknown, and until [`locate`](Self::locate).
    data: &'a [u8],
    /// Byte of the header.
    header_at: u64,
    /// The file, where it is one of several.
    shard: Option<u16>,
}

impl<'a> Tensor<'a> {
    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// The type.
    ///
    /// # Errors
    /// [`TypeIdError`] for type ids that ggml removed or that this version does not know.
    pub fn ty(&self) -> Result<GgmlType, TypeIdError> {
        GgmlType::from_id(self.type_id)
    }

    /// The dimensions, the fastest first; 1 to 4 of them, each from 1 up.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        self.shape.dims()
    }

    /// Elements: the product of the dimensions.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.dims().iter().product()
    }

    /// The file of a set that the tensor is in, as an index of [`SourceSet::sources`](crate::SourceSet::sources); 0 where
    /// there is but one.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.shard.map_or(0, usize::from)
    }

    /// The byte, from the start of the file, where the data begin.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the data; none where the type is unknown.
    #[must_use]
    pub const fn byte_size(&self) -> Option<u64> {
        self.byte_size
    }

    /// The bytes of the data, in the file.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] where the type, and with it the size, is unknown.
    pub fn data(&self) -> Result<&'a [u8], GgufError> {
        self.known_type()?;
        Ok(self.data)
    }

    /// Matrices in the tensor: the product of the dimensions from the third on, so 1 for vectors and matrices.
    #[must_use]
    pub const fn slices(&self) -> u64 {
        self.shape.slices()
    }

    /// The tensor as weights `w[n,k]`: `k = dims[0]`, `n = dims[1]`; one row where there is one dimension.
    ///
    /// # Errors
    /// [`ErrorKind::Stack`] for more than one matrix, [`ErrorKind::Type`] for an unknown type,
    /// [`ErrorKind::Matrix`] for a type without a decoder.
    pub fn matrix(&self) -> Result<Matrix<'a>, GgufError> {
        match self.slices() {
            1 => self.slice(0),
            slices => Err(self.error(ErrorKind::Stack { slices })),
        }
    }

    /// Matrix `index` of a stack `w[slices,n,k]`.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchSlice`] past the last; otherwise those of [`matrix`](Self::matrix).
    pub fn slice(&self, index: usize) -> Result<Matrix<'a>, GgufError> {
        let ty = self.known_type()?;
        let slices = self.slices();
        if index as u64 >= slices {
            return Err(self.error(ErrorKind::NoSuchSlice { index, slices }));
        }
        let addressed = |size: u64| usize::try_from(size).map_err(|_| self.error(self.shape.too_large()));
        let (k, n) = (addressed(self.shape.k())?, addressed(self.shape.n())?);
        // Slices are whole rows, rows whole blocks: the division leaves no rest.
        let size = self.data.len() / addressed(slices)?;
        let bytes = &self.data[index * size..][..size];
        Matrix::new(ty, n, k, bytes).map_err(|error| self.error(ErrorKind::Matrix(error)))
    }

    /// Checks that every element is finite: a file with damaged scales opens, and poisons whatever reads it. Reads all of
    /// the tensor's bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFinite`] for the first block with an infinite or NaN element; those of [`slice`](Self::slice).
    pub fn verify(&self) -> Result<(), GgufError> {
        for index in 0..usize::try_from(self.slices()).map_err(|_| self.error(self.shape.too_large()))? {
            let matrix = self.slice(index)?;
            if let Some((row, block)) = matrix.first_not_finite() {
                return Err(self.error(ErrorKind::NotFinite { row: index * matrix.n() + row, block }));
            }
        }
        Ok(())
    }

    fn known_type(&self) -> Result<GgmlType, GgufError> {
        self.ty().map_err(|error| self.error(ErrorKind::Type(error)))
    }

    /// An error about the header.
    pub(crate) fn error(&self, kind: ErrorKind) -> GgufError {
        GgufError::new(Subject::tensor(self.name), self.header_at, kind).in_shard(self.shard)
    }
}

// Reading a header, and finding the data.
impl<'a> Tensor<'a> {
    /// Reads and checks the header of tensor `number`.
    ///
    /// ```text
    /// | name: length u64, bytes | dimensions u32 | dims u64 × dimensions | type u32 | offset u64 |
    /// ```
    pub(crate) fn read(cursor: &mut Cursor<'a>, number: u64, alignment: u32) -> Result<Self, GgufError> {
        let header_at = cursor.at();
        let name = cursor
            .string()
            .and_then(|name| {
                check_tensor_name(name).map_err(|kind| Fault { at: header_at, kind })?;
                Ok(name)
            })
            .map_err(|fault| fault.of(Subject::TensorNumber(number)))?;
        Self::read_named(cursor, name, header_at, alignment).map_err(|fault| fault.of(Subject::tensor(name)))
    }

    fn read_named(cursor: &mut Cursor<'a>, name: &'a str, header_at: u64, alignment: u32) -> Result<Self, Fault> {
        let shape_at = cursor.at();
        let shape = read_shape(cursor)?;
        let type_id = cursor.u32("tensor type")?;
        // Where the type is unknown, so is the size; it will be one byte at least.
        let byte_size = GgmlType::from_id(type_id)
            .ok()
            .map(|ty| shape.byte_size(ty))
            .transpose()
            .map_err(|kind| Fault { at: shape_at, kind })?;

        let offset_at = cursor.at();
        let offset = cursor.u64("data offset")?;
        if !offset.is_multiple_of(alignment.into()) {
            return Err(Fault { at: offset_at, kind: ErrorKind::Misaligned { offset, alignment } });
        }
        let end = offset.checked_add(byte_size.unwrap_or(1));
        if !end.is_some_and(fits_i64) {
            return Err(Fault { at: offset_at, kind: ErrorKind::TooFar { offset } });
        }
        Ok(Self { name, type_id, shape, offset, byte_size, data: &[], header_at, shard: None })
    }

    /// The same tensor in a file of a set.
    pub(crate) fn in_shard(self, shard: u16) -> Self {
        Self { shard: Some(shard), ..self }
    }

    /// Byte of the header.
    pub(crate) const fn header_at(&self) -> u64 {
        self.header_at
    }

    /// The byte after the data; for an unknown type, after its first byte.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.byte_size.unwrap_or(1)
    }

    /// Moves the offset from the data section, which begins at byte `section`, to the file.
    ///
    /// The section begins within 2^30 bytes of a slice's length, ends lie below 2^63: no sum wraps.
    pub(crate) fn shift(&mut self, section: u64) {
        self.offset += section;
    }

    /// Finds the data in the file; false where they are not all there.
    pub(crate) fn locate(&mut self, file: &'a [u8]) -> bool {
        let address = |byte: u64| usize::try_from(byte).ok();
        let data = address(self.offset).zip(address(self.end())).and_then(|(start, end)| file.get(start..end));
        if self.byte_size.is_some() {
            self.data = data.unwrap_or_default();
        }
        data.is_some()
    }
}

impl Named for Tensor<'_> {
    fn name(&self) -> &str {
        self.name
    }
}

/// Reads the number of dimensions and the dimensions.
fn read_shape(cursor: &mut Cursor<'_>) -> Result<Shape, Fault> {
    let count_at = cursor.at();
    let found = cursor.u32("dimension count")?;
    let mut dims = [0; MAX_DIMS];
    let Some(dims) = usize::try_from(found).ok().and_then(|count| dims.get_mut(..count)) else {
        return Err(Fault { at: count_at, kind: ErrorKind::DimensionCount { found: found.into() } });
    };
    let dims_at = cursor.at();
    for dim in &mut *dims {
        *dim = cursor.u64("dimension")?;
    }
    Shape::new(dims).map_err(|kind| {
        let at = match kind {
            ErrorKind::Dimension { index, .. } => dims_at + 8 * index as u64,
            _ => count_at,
        };
        Fault { at, kind }
    })
}
