//! Why a multiplication or a pool was refused.

use std::fmt;

use keepq_act::ActError;
use keepq_blocks::GgmlType;
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
    /// The stack was not accepted.
    Stack(StackError),
    /// A route names a row that `x` does not have.
    NoSuchRow {
        /// The index of the route.
        route: usize,
        /// The row it names.
        row: u32,
        /// Rows of `x`.
        m: usize,
    },
    /// A route names a slice that the stack does not have.
    NoSuchSlice {
        /// The index of the route.
        route: usize,
        /// The slice it names.
        slice: u32,
        /// Slices of the stack.
        slices: usize,
    },
    /// `x` is not `m * k` elements.
    WrongInput {
        /// Tokens.
        m: usize,
        /// Elements of the reduction axis.
        k: usize,
        /// Elements of `x`.
        found: usize,
    },
    /// `y` is not `m * n` elements.
    WrongOutput {
        /// Tokens, or routes.
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
            Self::Stack(error) => error.fmt(f),
            Self::NoSuchRow { route, row, m } => write!(f, "route {route} takes row {row} of {m}"),
            Self::NoSuchSlice { route, slice, slices } => write!(f, "route {route} leads to slice {slice} of {slices}"),
            Self::WrongInput { m, k, found } => {
                write!(f, "{m} tokens of {k} activations are no input of {found} elements")
            }
            Self::WrongOutput { m, n, found } => {
                write!(f, "{m} rows of {n} features are no output of {found} elements")
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

impl From<StackError> for MatmulError {
    fn from(error: StackError) -> Self {
        Self::Stack(error)
    }
}

/// Why matrices are no stack that can be multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackError {
    /// There is no slice.
    Empty,
    /// A slice has another shape than the first one.
    Shape {
        /// The index of the slice.
        slice: usize,
        /// n and k of the first one.
        expected: (usize, usize),
        /// Its own n and k.
        found: (usize, usize),
    },
    /// The type of a slice cannot be multiplied in place.
    NoKernel {
        /// The index of the slice.
        slice: usize,
        /// Its type.
        ty: GgmlType,
    },
    /// A copy of a slice needs memory that there is not.
    NoMemory {
        /// The index of the slice.
        slice: usize,
        /// Bytes of the copy.
        bytes: usize,
    },
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a stack of no slices has no shape"),
            Self::Shape { slice, expected, found } => write!(
                f,
                "slice {slice} has {} rows of {} elements, the first one {} of {}",
                found.0, found.1, expected.0, expected.1
            ),
            Self::NoMemory { slice, bytes } => {
                write!(f, "there is no memory for a copy of slice {slice} of {bytes} bytes")
            }
            Self::NoKernel { slice, ty } => {
                write!(f, "slice {slice}: {ty} weights cannot be multiplied in place by this version")
            }
        }
    }
}

impl std::error::Error for StackError {}

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
    /// `KEEPQ_EXECUTOR` names no executor.
    NoSuchExecutor {
        /// Its value.
        name: String,
    },
}

impl fmt::Display for ExecutorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoThreads => write!(f, "a pool of 0 threads can do nothing"),
            Self::TooManyThreads { threads } => write!(f, "{threads} threads are more than {MOST_THREADS}"),
            Self::CannotStart { threads, reason } => write!(f, "cannot start {threads} threads: {reason}"),
            Self::BadVariable { value } => write!(f, "KEEPQ_THREADS={value:?} is no number from 1 to {MOST_THREADS}"),
            Self::NoSuchExecutor { name } => write!(f, "KEEPQ_EXECUTOR={name:?} is none of serial, rayon and team"),
        }
    }
}

impl std::error::Error for ExecutorError {}
