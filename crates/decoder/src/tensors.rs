//! [`Tensors`]: takes tensors out of a GGUF file, each with the shape that it must have.

use std::collections::HashSet;

use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::ProductError;
use keepq_gemm::{Reason, Residency, StackError, WeightStack};
use keepq_gguf::{Gguf, Tensor};

use crate::layers::Store;
use crate::weights::Weight;
use crate::{Config, Expansion, LoadReport, ModelError};

/// Takes tensors out of a file, and remembers which.
pub(crate) struct Tensors<'g, 'a> {
    gguf: &'g Gguf<'a>,
    residency: Residency,
    used: HashSet<String>,
    report: LoadReport,
    /// Told of each tensor that was expanded.
    expanded: &'g dyn Fn(&Tensor<'a>),
}

impl<'g, 'a> Tensors<'g, 'a> {
    pub(crate) fn of(gguf: &'g Gguf<'a>, residency: Residency, expanded: &'g dyn Fn(&Tensor<'a>)) -> Self {
        Self { gguf, residency, used: HashSet::new(), report: LoadReport::default(), expanded }
    }

    pub(crate) fn embedding(&mut self, config: &Config) -> Result<Matrix<'a>, ModelError> {
        let name = "token_embd.weight";
        let matrix = self.matrix(name)?;
        if matrix.k() != config.embedding || matrix.n() == 0 {
            return Err(shape_error(name, matrix, (matrix.n().max(1), config.embedding)));
        }
        Ok(matrix)
    }

    pub(crate) fn hold(&mut self, name: &str, matrix: Matrix<'a>) -> Result<Weight<'a>, ModelError> {
        let weight = keepq_gemm::Weight::new(matrix, self.residency).map_err(|error| match error {
            ProductError::NoMemory { bytes } => no_memory(name, bytes),
            _ => no_kernel(name, matrix.ty()),
        })?;
        self.count(name, matrix.ty(), matrix.bytes().len(), weight.expansion());
        Ok(Weight::Blocks(weight))
    }

    /// Adds weights of so many bytes in the file to the report.
    fn count(&mut self, name: &str, ty: GgmlType, bytes: usize, expansion: Option<(usize, Reason)>) {
        match expansion {
            None => self.report.kept_bytes += bytes,
            Some((bytes, reason)) => {
                self.report.expanded_bytes += bytes;
                self.report.expansions.push(Expansion { tensor: name.to_owned(), ty, bytes, reason });
                if let Some(tensor) = self.gguf.tensor(name) {
                    (self.expanded)(tensor);
                }
            }
        }
    }

    fn matrix(&mut self, name: &str) -> Result<Matrix<'a>, ModelError> {
        let matrix = self.gguf.require_tensor(name)?.matrix()?;
        self.used.insert(name.to_owned());
        Ok(matrix)
    }

    /// Nothing in the file may be left over: a bias that is silently ignored gives wrong results.
    pub(crate) fn finish(self) -> Result<LoadReport, ModelError> {
        match self.gguf.tensors().iter().find(|tensor| !self.used.contains(tensor.name())) {
            Some(tensor) => Err(ModelError::Unused { tensor: tensor.name().to_owned() }),
            None => Ok(self.report),
        }
    }
}

impl<'a> Store<'a> for Tensors<'_, 'a> {
    fn weight(&mut self, name: &str, n: usize, k: usize) -> Result<Weight<'a>, ModelError> {
        let matrix = self.matrix(name)?;
        if (matrix.n(), matrix.k()) != (n, k) {
            return Err(shape_error(name, matrix, (n, k)));
        }
        self.hold(name, matrix)
    }

    fn stack(&mut self, name: &str, slices: usize, n: usize, k: usize) -> Result<WeightStack<'a>, ModelError> {
        let tensor = self.gguf.require_tensor(name)?;
        if tensor.slices() != slices as u64 {
            let (found, expected) = (tensor.slices(), slices);
            return Err(ModelError::Slices { tensor: name.to_owned(), found, expected });
        }
        let matrices = (0..slices).map(|slice| tensor.slice(slice)).collect::<Result<Vec<_>, _>>()?;
        let first = matrices[0];
        if (first.n(), first.k()) != (n, k) {
            return Err(shape_error(name, first, (n, k)));
        }
        self.used.insert(name.to_owned());
        let stack = WeightStack::new(&matrices, self.residency).map_err(|error| match error {
            StackError::NoMemory { bytes, .. } => no_memory(name, bytes),
            _ => no_kernel(name, first.ty()),
        })?;
        self.count(name, first.ty(), slices * first.bytes().len(), stack.expansion());
        Ok(stack)
    }

    fn floats(&mut self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let matrix = self.matrix(name)?;
        if (matrix.n(), matrix.k()) != (1, len) {
            return Err(shape_error(name, matrix, (1, len)));
        }
        if !matches!(matrix.ty(), GgmlType::F32 | GgmlType::F16 | GgmlType::BF16) {
            return Err(ModelError::Unsupported { tensor: name.to_owned(), ty: matrix.ty(), op: "vectors" });
        }
        let mut floats = vec![0.0; len];
        matrix.decode_row(0, &mut floats).expect("row 0 of one, a buffer of its length");
        Ok(floats)
    }
}

fn shape_error(name: &str, matrix: Matrix<'_>, expected: (usize, usize)) -> ModelError {
    ModelError::Shape { tensor: name.to_owned(), found: (matrix.n(), matrix.k()), expected }
}

fn no_memory(name: &str, bytes: usize) -> ModelError {
    ModelError::NoMemory { tensor: name.to_owned(), bytes }
}

fn no_kernel(name: &str, ty: GgmlType) -> ModelError {
    ModelError::Unsupported { tensor: name.to_owned(), ty, op: "multiplication in place" }
}
