//! [`Weight`] and [`Embedding`]: what a model holds, wherever it came from.

use keepq_act::SharedActs;
use keepq_blocks::Matrix;
use keepq_checkpoint::Linear;
use keepq_gemm::{Driver, FourBitWeight, MatmulError, Scratch};

/// Weights as they are resident.
#[derive(Debug)]
pub(crate) enum Weight<'a> {
    /// Blocks or floats.
    Blocks(keepq_gemm::Weight<'a>),
    /// Of one of the 4-bit paths.
    FourBit(Box<FourBitWeight<'a>>),
}

impl Weight<'_> {
    /// Elements of the reduction axis.
    pub(crate) fn k(&self) -> usize {
        match self {
            Self::Blocks(weight) => weight.k(),
            Self::FourBit(weight) => weight.k(),
        }
    }

    /// `y[m,n] = x[m,k] · wᵀ`.
    pub(crate) fn matmul(
        &self,
        driver: &Driver<'_>,
        x: &mut SharedActs<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        match self {
            Self::Blocks(weight) => weight.matmul(driver, x, y, scratch),
            Self::FourBit(weight) => weight.matmul(driver, x, y, scratch),
        }
    }
}

/// Several weights by the same activations: in one run where all of them are held alike, else one after the other.
pub(crate) fn matmul_many<const N: usize>(
    driver: &Driver<'_>,
    x: &mut SharedActs<'_>,
    products: [(&Weight<'_>, &mut [f32]); N],
    scratch: &mut Scratch,
) -> Result<(), MatmulError> {
    if products.iter().all(|(weight, _)| matches!(weight, Weight::Blocks(_))) {
        let blocks = products.map(|(weight, y)| match weight {
            Weight::Blocks(weight) => (weight, y),
            Weight::FourBit(_) => unreachable!("all are blocks"),
        });
        driver.matmul_many(x, blocks, scratch)
    } else if products.iter().all(|(weight, _)| matches!(weight, Weight::FourBit(_))) {
        let four_bit = products.map(|(weight, y)| match weight {
            Weight::FourBit(weight) => (&**weight, y),
            Weight::Blocks(_) => unreachable!("all are of 4 bits"),
        });
        driver.matmul_many_four_bit(x, four_bit, scratch)
    } else {
        products.into_iter().try_for_each(|(weight, y)| weight.matmul(driver, x, y, scratch))
    }
}

/// One row a token.
#[derive(Debug)]
pub(crate) enum Embedding<'a> {
    /// Blocks or floats, where the file has them.
    Matrix(Matrix<'a>),
    /// In a form of checkpoints, where the file has it.
    Linear(Linear<'a>),
}

impl Embedding<'_> {
    /// Tokens.
    pub(crate) fn n(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.n(),
            Self::Linear(linear) => linear.n(),
        }
    }

    /// The row of a token that is there, decoded.
    pub(crate) fn decode_row(&self, token: usize, out: &mut [f32]) {
        match self {
            Self::Matrix(matrix) => matrix.decode_row(token, out).expect("a row of the matrix, a buffer of its length"),
            Self::Linear(linear) => linear.decode_row(token, out),
        }
    }
}
