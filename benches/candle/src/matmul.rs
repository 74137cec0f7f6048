//! [`MatMul`]: a case, as a model in candle computes it.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{Device, Module as _, Tensor};

use crate::protocol::{Case, Data};

/// The tokens, and copies of the weights.
pub(crate) struct MatMul {
    x: Tensor,
    copies: Vec<QMatMul>,
}

impl MatMul {
    /// # Errors
    /// A type that candle does not have; files that are not of this shape.
    pub(crate) fn new(case: &Case, data: &Data) -> Result<Self> {
        let &Case { ty, n, k, m } = case;
        let dtype = dtype(ty)?;
        let row_bytes = k / dtype.block_size() * dtype.type_size();
        let distinct = read(&data.blocks)?;
        ensure!(!distinct.is_empty() && distinct.len().is_multiple_of(row_bytes), "not whole rows of {dtype:?}");
        let mut weights = distinct.repeat((n * row_bytes).div_ceil(distinct.len()));
        weights.truncate(n * row_bytes);

        let x = read(&data.x)?.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let x = Tensor::from_vec(x, (m, k), &Device::Cpu)?;
        let copy = || {
            let storage = QStorage::from_data(Cow::Borrowed(&weights), &Device::Cpu, dtype)?;
            Ok(QMatMul::from_qtensor(QTensor::new(storage, (n, k))?)?)
        };
        let copies = (0..data.copies).map(|_| copy()).collect::<Result<Vec<_>>>()?;
        ensure!(!copies.is_empty(), "nothing to multiply");
        let mat_mul = Self { x, copies };
        // Where candle has another layout for the type it copies the weights to it when it first multiplies by them.
        mat_mul.multiply()?;
        Ok(mat_mul)
    }

    /// How often one [`multiply`](Self::multiply) multiplies.
    pub(crate) fn copies(&self) -> usize {
        self.copies.len()
    }

    /// What candle makes of the weights: float ones it has as tensors of f32.
    pub(crate) fn layout(&self) -> &'static str {
        match self.copies[0] {
            QMatMul::QTensor(_) => "QTensor",
            QMatMul::Tensor(_) => "Tensor of f32",
            QMatMul::TensorF16(_) => "Tensor of f16",
        }
    }

    /// Multiplies the tokens by every copy of the weights.
    pub(crate) fn multiply(&self) -> Result<()> {
        for copy in &self.copies {
            std::hint::black_box(copy.forward(&self.x)?);
        }
        Ok(())
    }

    /// The outputs of some tokens, one token after another.
    pub(crate) fn sample(&self, tokens: &[usize]) -> Result<Vec<f32>> {
        let y = self.copies[0].forward(&self.x)?;
        let outputs = tokens.iter().map(|&t| Ok(y.get(t)?.to_vec1::<f32>()?));
        Ok(outputs.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// candle's name of ggml's id.
fn dtype(id: u32) -> Result<GgmlDType> {
    Ok(match id {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        _ => bail!("candle has no type with the id {id}"),
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}
