//! [`Product`]: activations and weights that fit each other.

use core::fmt;
use core::ops::Range;

use keepq_act::{ActFormat, ActRows};
use keepq_blocks::{GgmlType, Matrix};

use crate::WeightRows;

/// A pair `x[m,k]`, `w[n,k]` that can be multiplied: the same `k`, and the activation format of the weight's type.
///
/// Made once, checked; kernels take it and check nothing again.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a, W = Matrix<'a>> {
    x: ActRows<'a>,
    w: W,
}

impl<'a, W: WeightRows> Product<'a, W> {
    /// The pair.
    ///
    /// # Errors
    /// [`ProductError`] where the two do not fit.
    pub fn new(x: ActRows<'a>, w: W) -> Result<Self, ProductError> {
        let wanted = ActFormat::for_weights(w.ty()).ok_or(ProductError::NoKernel { ty: w.ty() })?;
        if x.format() != wanted {
            return Err(ProductError::WrongFormat { ty: w.ty(), wanted, found: x.format() });
        }
        if x.k() != w.k() {
            return Err(ProductError::WrongK { weights: w.k(), activations: x.k() });
        }
        Ok(Self { x, w })
    }

    /// The activations.
    #[must_use]
    pub const fn x(&self) -> ActRows<'a> {
        self.x
    }

    /// The weights.
    #[must_use]
    pub const fn w(&self) -> W {
        self.w
    }

    /// Some of the weight rows, all of the tokens.
    ///
    /// # Panics
    /// As [`WeightRows::rows`].
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> Self {
        Self { x: self.x, w: self.w.rows(range) }
    }

    /// Some of the tokens, all of the weight rows.
    ///
    /// # Panics
    /// Where `range` passes `m`.
    #[must_use]
    pub fn tokens(&self, range: Range<usize>) -> Self {
        Self { x: self.x.tokens(range), w: self.w }
    }
}

/// Why activations and weights do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProductError {
    /// The weight's type cannot be multiplied in place.
    NoKernel {
        /// The type.
        ty: GgmlType,
    },
    /// Rows of the weight's type are not interleaved.
    NotInterleaved {
        /// The type.
        ty: GgmlType,
    },
    /// A copy of weights needs memory that there is not.
    NoMemory {
        /// Bytes of the copy.
        bytes: usize,
    },
    /// The activations are stored in another format than the weight's type is multiplied by.
    WrongFormat {
        /// The weight's type.
        ty: GgmlType,
        /// The format it is multiplied by.
        wanted: ActFormat,
        /// The format found.
        found: ActFormat,
    },
    /// The reduction axes differ.
    WrongK {
        /// Elements of a weight row.
        weights: usize,
        /// Elements of an activation row.
        activations: usize,
    },
}

impl fmt::Display for ProductError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKernel { ty } => write!(f, "{ty} weights cannot be multiplied in place by this version"),
            Self::NotInterleaved { ty } => {
                write!(f, "{ty} weights are not interleaved: they are multiplied where they lie")
            }
            Self::NoMemory { bytes } => write!(f, "there is no memory for a copy of weights of {bytes} bytes"),
            Self::WrongFormat { ty, wanted, found } => {
                write!(f, "{ty} weights are multiplied by {wanted} activations, found {found}")
            }
            Self::WrongK { weights, activations } => {
                write!(f, "weight rows have {weights} elements, activation rows {activations}")
            }
        }
    }
}

impl core::error::Error for ProductError {}
