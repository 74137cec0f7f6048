//! Why a multiplication or a pool was refused.

use std::fmt;

use keepq_act::ActError;
use keepq_dot::ProductError;

use crate::MOST_THREADS;

/// Why a multiplication was refused. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatmulError {
    /// Activations and weights do not fit each other.
    Product(ProductError),
    /// The activations were not accepted.
    Acts(ActError),
    /// `y` is not `m * n` elements.
    WrongOutput {
        /// Tokens.
        m: usize,
        /// Output features.
        n: usize,
        /// Elements of `y`.
        found: usize,
    },
}

impl fmt::Display for MatmulError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product(error) => error.fmt(f),
            Self::Acts(error) => error.fmt(f),
            Self::WrongOutput { m, n, found } => {
                write!(f, "{m} tokens by {n} features are no output of {found} elements")
            }
        }
    }
}

impl std::error::Error for MatmulError {}

impl From<ProductError> for MatmulError {
    fn from(error: ProductError) -> Self {
        Self::Product(error)
    }
}

impl From<ActError> for MatmulError {
    fn from(error: ActError) -> Self {
        Self::Acts(error)
    }
}

/// Why there is no pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutorError {
    /// A pool of 0 threads was asked for.
    NoThreads,
    /// More than [`MOST_THREADS`](crate::MOST_THREADS) were asked for.
    TooManyThreads {
        /// How many were asked for.
        threads: usize,
    },
    /// The threads could not be started.
    CannotStart {
        /// How many were asked for.
        threads: usize,
        /// What rayon or the system says.
        reason: String,
    },
    /// `KEEPQ_THREADS` is no number of threads that can be had.
    BadVariable {
        /// Its value.
        value: String,
    },
}

impl fmt::Display for ExecutorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoThreads => write!(f, "a pool of 0 threads can do nothing"),
            Self::TooManyThreads { threads } => write!(f, "{threads} threads are more than {MOST_THREADS}"),
            Self::CannotStart { threads, reason } => write!(f, "cannot start {threads} threads: {reason}"),
            Self::BadVariable { value } => write!(f, "KEEPQ_THREADS={value:?} is no number from 1 to {MOST_THREADS}"),
        }
    }
}

impl std::error::Error for ExecutorError {}
