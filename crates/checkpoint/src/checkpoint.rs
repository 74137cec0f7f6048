//! [`Checkpoint`]: tensors by name, and the weights that they make up.

use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::select::Stored;
use keepq_tinygemm::w4a16::StoredRowMajor;
use keepq_tinygemm::{LayoutError, w4a8};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value};

use crate::linear::Form;
use crate::{CheckpointError, Linear, Method, Quantization, Tensor, ZeroPoints, awq, gptq};

/// The tensors of a checkpoint where they lie, and what its configuration says.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    config: &'a Map<String, Value>,
    quantization: Quantization,
    files: Vec<SafeTensors<'a>>,
}

impl<'a> Checkpoint<'a> {
    pub(crate) fn new(config: &'a Map<String, Value>, files: Vec<SafeTensors<'a>>) -> Result<Self, CheckpointError> {
        Ok(Self { config, quantization: Quantization::from_config(config)?, files })
    }

    /// `config.json`.
    #[must_use]
    pub const fn config(&self) -> &'a Map<String, Value> {
        self.config
    }

    /// How the weights are quantized.
    #[must_use]
    pub const fn quantization(&self) -> Quantization {
        self.quantization
    }

    /// What each path would make of the weights, by their form alone: shapes may rule paths out ([`Stored::with_matrix`]).
    #[must_use]
    pub const fn stored(&self) -> Stored {
        match self.quantization.method {
            Method::None => Stored::FLOATS,
            Method::Gptq(_) | Method::Awq => Stored::ZERO_POINTS,
            Method::CpuInt4 => Stored::CPU_INT4,
            Method::W4A8 => Stored::W4A8,
            Method::Int4 => Stored::INT4,
        }
    }

    /// The same checkpoint with zero points as the caller knows them to be stored, whatever the label says; of another form than GPTQ it is as it
    /// was.
    #[must_use]
    pub const fn with_zero_points(mut self, zero_points: ZeroPoints) -> Self {
        if let Method::Gptq(labelled) = &mut self.quantization.method {
            *labelled = zero_points;
        }
        self
    }

    /// The names of all tensors, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| file.names())
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<Tensor<'a>> {
        let view = self.files.iter().find_map(|file| file.tensor(name).ok())?;
        Some(Tensor::new(name, &view))
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// [`CheckpointError::MissingTensor`].
    pub fn require(&self, name: &str) -> Result<Tensor<'a>, CheckpointError> {
        self.tensor(name).ok_or_else(|| CheckpointError::MissingTensor { tensor: name.to_owned() })
    }

    /// The names of the tensors that [`linear`](Self::linear) makes weights of, as far as they are there.
    pub fn parts_of(&self, prefix: &str) -> impl Iterator<Item = String> {
        const PARTS: [&str; 8] =
            ["weight", "qweight", "qzeros", "scales", "g_idx", "weight_packed", "weight_scale", "weight_zero"];
        PARTS.into_iter().map(move |part| format!("{prefix}.{part}")).filter(|name| self.tensor(name).is_some())
    }

    /// The weights `w[n,k]` of a layer, in whatever form they are: `prefix` is its name without that of a tensor,
    /// `model.layers.0.mlp.up_proj`.
    ///
    /// # Errors
    /// [`CheckpointError`] where a tensor is missing, of other elements or of another shape, or a channel's group is not there.
    pub fn linear(&self, prefix: &str, (n, k): (usize, usize)) -> Result<Linear<'a>, CheckpointError> {
        let part = |part: &str| self.require(&format!("{prefix}.{part}"));
        let has = |part: &str| self.tensor(&format!("{prefix}.{part}")).is_some();
        let Quantization { method, group_size, .. } = self.quantization;
        let group = group_size.unwrap_or(k);
        let form = match method {
            Method::Gptq(zero_points) if !has("weight") => {
                check_shape(prefix, (n, k), (8, 8), group)?;
                let groups = if has("g_idx") { Some(part("g_idx")?) } else { None };
                let (codes, zeros, scales) = (part("qweight")?, part("qzeros")?, part("scales")?);
                let tensors = gptq::Tensors { codes, zeros, scales, groups };
                Form::Gptq(gptq::Weights::new((n, k), group, zero_points, tensors)?)
            }
            Method::Awq if !has("weight") => {
                check_shape(prefix, (n, k), (8, 1), group)?;
                Form::Awq(awq::Weights::new((n, k), group, [part("qweight")?, part("qzeros")?, part("scales")?])?)
            }
            // Embeddings of packed checkpoints are row-major: they are read row by row.
            Method::CpuInt4 if !has("weight") => self.row_major(prefix, (n, k), group)?,
            Method::W4A8 | Method::Int4 if self.is_row_major(prefix) => self.row_major(prefix, (n, k), group)?,
            Method::W4A8 if !has("weight") => {
                check_shape(prefix, (n, k), (w4a8::ROWS, 1), group)?;
                Form::W4A8(self.records(prefix, (n, k), group)?)
            }
            Method::Int4 if !has("weight") => {
                let codes = part("weight_packed")?.shaped(&[n, k.div_ceil(2)])?.elements(Dtype::U8)?.into_owned();
                let scales = part("weight_scale")?.shaped(&[n])?.elements(Dtype::F32)?.into_owned();
                Form::Int4(QuantizedMatrixQ4::from_parts(n, k, codes, scales).map_err(layout(prefix))?)
            }
            _ => Form::Float(part("weight")?.shaped(&[n, k])?.matrix()?),
        };
        Ok(Linear::new(prefix, form))
    }

    /// Whether the packed codes are row-major: the zeros beside them are bf16 then.
    fn is_row_major(&self, prefix: &str) -> bool {
        self.tensor(&format!("{prefix}.weight_zero")).is_some_and(|zeros| zeros.dtype() == "BF16")
    }

    fn row_major(&self, prefix: &str, (n, k): (usize, usize), group: usize) -> Result<Form<'a>, CheckpointError> {
        check_shape(prefix, (n, k), (1, 2), group)?;
        let part = |part: &str| self.require(&format!("{prefix}.{part}"));
        let stored = StoredRowMajor::new(
            (n, k),
            group,
            part("weight_packed")?.shaped(&[n, k / 2])?.elements::<u8>(Dtype::U8)?,
            part("weight_scale")?.shaped(&[n, k / group])?.elements(Dtype::BF16)?,
            part("weight_zero")?.shaped(&[n, k / group])?.elements(Dtype::BF16)?,
        );
        Ok(Form::CpuInt4(stored.map_err(layout(prefix))?))
    }

    fn records(&self, prefix: &str, (n, k): (usize, usize), group: usize) -> Result<w4a8::Stored<'a>, CheckpointError> {
        let part = |part: &str| self.require(&format!("{prefix}.{part}"));
        let bytes = w4a8::packed_bytes(n, k, group).map_err(layout(prefix))?;
        let blocks = n / w4a8::ROWS;
        let of_groups = [blocks, k / group, w4a8::ROWS];
        let stored = w4a8::Stored::new(
            (n, k),
            group,
            part("weight_packed")?.shaped(&[blocks, bytes / blocks.max(1)])?.elements::<u8>(Dtype::U8)?,
            part("weight_scale")?.shaped(&of_groups)?.elements(Dtype::F32)?,
            part("weight_zero")?.shaped(&of_groups)?.elements(Dtype::I8)?,
        );
        let stored = stored.map_err(layout(prefix))?;
        stored.view().check_compensations().map_err(layout(prefix))?;
        Ok(stored)
    }
}

/// That `n` and `k` are multiples of what words hold, and `k` of the group.
fn check_shape(
    prefix: &str,
    (n, k): (usize, usize),
    words: (usize, usize),
    group: usize,
) -> Result<(), CheckpointError> {
    if n.is_multiple_of(words.0) && k.is_multiple_of(words.1) && group > 0 && k.is_multiple_of(group) {
        return Ok(());
    }
    let expected = format!("n a multiple of {}, k of {} and of the group {group}", words.0, words.1);
    Err(CheckpointError::Shape { tensor: prefix.to_owned(), found: vec![n, k], expected })
}

pub(crate) fn layout(tensor: &str) -> impl Fn(LayoutError) -> CheckpointError {
    move |error| CheckpointError::Layout { tensor: tensor.to_owned(), error }
}
