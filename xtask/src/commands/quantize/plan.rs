//! [`Plan`]: what becomes of every tensor, known before anything is written.

use anyhow::{Context, Result};
use keepq_gguf::{GgmlType, Gguf, Matrix, MatrixError, Tensor};

use super::selection::is_quantized;
use super::target::Target;

/// The tensors in the order of the new file.
#[derive(Debug)]
pub(super) struct Plan<'g> {
    pub(super) target: Target,
    pub(super) steps: Vec<Step<'g>>,
}

/// What becomes of a tensor.
#[derive(Debug)]
pub(super) struct Step<'g> {
    pub(super) tensor: &'g Tensor<'g>,
    pub(super) from: GgmlType,
    pub(super) to: GgmlType,
    /// `to` stands in for the type asked for.
    pub(super) is_fallback: bool,
    /// The bytes in the source.
    pub(super) data: &'g [u8],
    /// The same as rows, those of a stack's matrices one after another; none where a tensor is kept whose type has no
    /// decoder.
    pub(super) rows: Option<Matrix<'g>>,
}

impl<'g> Plan<'g> {
    /// The plan for all tensors of a file.
    ///
    /// # Errors
    /// Names a tensor whose type is unknown, or has no decoder and would have to be quantized again.
    pub(super) fn new(gguf: &'g Gguf<'g>, target: Target) -> Result<Self> {
        let architecture = gguf.get("general.architecture")?.unwrap_or_default();
        let mut steps = Vec::with_capacity(gguf.tensors().len());
        for tensor in gguf.tensors() {
            steps.push(Step::new(tensor, architecture, target)?);
        }
        // llama.cpp's order, so that the file is its file: what belongs to no layer, then layer after layer.
        steps.sort_by_cached_key(|step| (layer(step.tensor.name()), step.tensor.name()));
        Ok(Self { target, steps })
    }

    /// Bytes of all tensors in the new file.
    pub(super) fn bytes(&self) -> u64 {
        self.steps.iter().map(Step::bytes).sum()
    }
}

impl<'g> Step<'g> {
    fn new(tensor: &'g Tensor<'g>, architecture: &str, target: Target) -> Result<Self> {
        // The error for a type that is not known names the tensor.
        let data = tensor.data()?;
        let from = tensor.ty()?;
        let is_quantized = is_quantized(tensor, architecture);
        let to = if is_quantized { target.for_rows_of(tensor.dims()[0]) } else { from };
        let rows = match all_rows(tensor, from, data) {
            Ok(rows) => Some(rows),
            Err(MatrixError::Unsupported { .. }) if !is_quantized => None,
            Err(error) => return Err(error).with_context(|| format!("tensor {:?}", tensor.name())),
        };
        Ok(Self { tensor, from, to, is_fallback: is_quantized && to != target.ty(), data, rows })
    }

    /// Bytes in the new file.
    pub(super) fn bytes(&self) -> u64 {
        self.tensor.elements() / self.to.block_len() as u64 * self.to.block_bytes() as u64
    }
}

/// The rows of a vector, a matrix or a stack, of which the data are there: the numbers are those of bytes in memory.
fn all_rows<'g>(tensor: &Tensor<'_>, ty: GgmlType, data: &'g [u8]) -> Result<Matrix<'g>, MatrixError> {
    let (k, n) = (tensor.dims()[0], tensor.dims()[1..].iter().product::<u64>());
    Matrix::new(ty, n as usize, k as usize, data)
}

/// The layer that a tensor belongs to, by its name: `blk.7.attn_q.weight`.
fn layer(name: &str) -> Option<u32> {
    let (layer, _) = name.strip_prefix("blk.")?.split_once('.')?;
    layer.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_in_the_order_of_their_numbers() {
        let mut names = ["blk.10.a", "blk.9.b", "output.weight", "blk.9.a", "blk.x.a", "a"];
        names.sort_by_key(|name| (layer(name), *name));
        assert_eq!(names, ["a", "blk.x.a", "output.weight", "blk.9.a", "blk.9.b", "blk.10.a"]);
    }
}
