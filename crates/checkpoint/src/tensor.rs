//! [`Tensor`]: bytes of a file with the type and shape that its header gives them.

use std::borrow::Cow;

use bytemuck::AnyBitPattern;
use half::{bf16, f16};
use keepq_blocks::{GgmlType, Matrix};
use safetensors::{Dtype, tensor::TensorView};

use crate::CheckpointError;

// Numbers of a file are little-endian, and viewed as they lie.
const _: () = assert!(cfg!(target_endian = "little"), "safetensors files are little-endian");

/// A tensor where it lies: its name, the type of its elements, its shape and its bytes, which were checked to fit.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl<'a> Tensor<'a> {
    pub(crate) fn new(name: &str, view: &TensorView<'a>) -> Self {
        Self { name: name.to_owned(), dtype: view.dtype(), shape: view.shape().to_vec(), bytes: view.data() }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes, at any address.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The type of the elements, as the file names it: `BF16`, `I32`.
    #[must_use]
    pub fn dtype(&self) -> String {
        self.dtype.to_string()
    }

    /// A matrix of floats `[n, k]`, or one row of a vector.
    ///
    /// # Errors
    /// [`CheckpointError::Elements`] where the elements are no floats of 16 or 32 bits, [`CheckpointError::Shape`] where there are
    /// more than two dimensions.
    pub fn matrix(&self) -> Result<Matrix<'a>, CheckpointError> {
        let ty = self.float_type()?;
        let (n, k) = match self.shape[..] {
            [k] => (1, k),
            [n, k] => (n, k),
            _ => return Err(self.shape_error("of one or two dimensions".into())),
        };
        Matrix::new(ty, n, k, self.bytes).map_err(|_| self.shape_error(format!("that {} bytes fill", self.bytes.len())))
    }

    /// All elements as floats.
    ///
    /// # Errors
    /// [`CheckpointError::Elements`] where the elements are no floats of 16 or 32 bits.
    pub fn floats(&self) -> Result<Vec<f32>, CheckpointError> {
        let floats = Floats::of(self)?;
        Ok((0..floats.len()).map(|i| floats.get(i)).collect())
    }

    fn float_type(&self) -> Result<GgmlType, CheckpointError> {
        match self.dtype {
            Dtype::F32 => Ok(GgmlType::F32),
            Dtype::F16 => Ok(GgmlType::F16),
            Dtype::BF16 => Ok(GgmlType::BF16),
            _ => Err(self.elements_error("F32, F16 or BF16")),
        }
    }

    /// The tensor, where it has this shape.
    pub(crate) fn shaped(self, expected: &[usize]) -> Result<Self, CheckpointError> {
        if self.shape == expected { Ok(self) } else { Err(self.shape_error(format!("{expected:?}"))) }
    }

    /// Elements of a type with the name `dtype`, in place where their address allows it.
    pub(crate) fn elements<T: AnyBitPattern>(&self, dtype: Dtype) -> Result<Cow<'a, [T]>, CheckpointError> {
        if self.dtype != dtype {
            let expected = match dtype {
                Dtype::U8 => "U8",
                Dtype::I8 => "I8",
                Dtype::BF16 => "BF16",
                Dtype::F32 => "F32",
                _ => "I32",
            };
            return Err(self.elements_error(expected));
        }
        Ok(bytemuck::try_cast_slice(self.bytes).map_or_else(|_| Cow::Owned(self.read_unaligned()), Cow::Borrowed))
    }

    /// A copy of elements at any address.
    fn read_unaligned<T: AnyBitPattern>(&self) -> Vec<T> {
        self.bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }

    /// 32-bit words at any address.
    pub(crate) fn words(&self) -> Result<&'a [[u8; 4]], CheckpointError> {
        match self.dtype {
            Dtype::I32 | Dtype::U32 => Ok(self.bytes.as_chunks().0),
            _ => Err(self.elements_error("I32")),
        }
    }

    fn elements_error(&self, expected: &'static str) -> CheckpointError {
        CheckpointError::Elements { tensor: self.name.clone(), found: self.dtype.to_string(), expected }
    }

    fn shape_error(&self, expected: String) -> CheckpointError {
        CheckpointError::Shape { tensor: self.name.clone(), found: self.shape.clone(), expected }
    }
}

/// Floats of 16 or 32 bits at any address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Floats<'a> {
    F32(&'a [[u8; 4]]),
    F16(&'a [[u8; 2]]),
    Bf16(&'a [[u8; 2]]),
}

impl<'a> Floats<'a> {
    pub(crate) fn of(tensor: &Tensor<'a>) -> Result<Self, CheckpointError> {
        Ok(match tensor.float_type()? {
            GgmlType::F32 => Self::F32(tensor.bytes.as_chunks().0),
            GgmlType::F16 => Self::F16(tensor.bytes.as_chunks().0),
            _ => Self::Bf16(tensor.bytes.as_chunks().0),
        })
    }

    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::F32(x) => x.len(),
            Self::F16(x) | Self::Bf16(x) => x.len(),
        }
    }

    /// The element at `i`.
    pub(crate) fn get(&self, i: usize) -> f32 {
        match self {
            Self::F32(x) => f32::from_le_bytes(x[i]),
            Self::F16(x) => f16::from_le_bytes(x[i]).to_f32(),
            Self::Bf16(x) => bf16::from_le_bytes(x[i]).to_f32(),
        }
    }

    /// Bytes that they take.
    pub(crate) const fn bytes(&self) -> usize {
        match self {
            Self::F32(x) => 4 * x.len(),
            Self::F16(x) | Self::Bf16(x) => 2 * x.len(),
        }
    }
}
