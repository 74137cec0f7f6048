//! [`Model`]: the tensors of a model as a checkpoint names them, whatever it is read from.

use anyhow::{Context, Result, ensure};
use keepq_blocks::Matrix;
use keepq_checkpoint::{Checkpoint, Method};
use keepq_decoder::{Architecture, Config, checkpoint_config, checkpoint_name};
use keepq_dot::rows::RopePairs;
use keepq_gguf::Gguf;
use serde_json::{Map, Value};

use crate::model_files::Contents;

/// What the embedding and the head are called.
pub(super) const EMBEDDING: &str = "model.embed_tokens.weight";
pub(super) const HEAD: &str = "lm_head.weight";

/// What divides angles: a tensor of GGUF files, numbers of a configuration elsewhere.
const ROPE_FACTORS: &str = "rope_freqs.weight";

/// A model that is to be quantized.
pub(super) struct Model<'a> {
    /// `config.json`, without a word about quantization.
    pub(super) config: Map<String, Value>,
    pub(super) tensors: Vec<Tensor<'a>>,
}

/// A tensor, by its name in checkpoints.
pub(super) struct Tensor<'a> {
    pub(super) name: String,
    pub(super) matrix: Matrix<'a>,
    /// Its dimensions are two.
    pub(super) is_matrix: bool,
    /// The elements of a head, the two halves of which take turns here and not in checkpoints.
    paired_heads: Option<usize>,
    /// What is added to each element.
    add: f32,
}

impl<'a> Model<'a> {
    pub(super) fn of(contents: &Contents<'a>) -> Result<Self> {
        match contents {
            Contents::Gguf(_, gguf) => Self::of_gguf(gguf),
            Contents::Checkpoint { checkpoint, .. } => Self::of_checkpoint(checkpoint),
        }
    }

    fn of_gguf(gguf: &Gguf<'a>) -> Result<Self> {
        let config = Config::from_gguf(gguf)?;
        let architecture = config.architecture;
        let mut tensors = Vec::new();
        let mut rope_factors = Vec::new();
        for tensor in gguf.tensors().iter() {
            if tensor.name() == ROPE_FACTORS {
                let factors = tensor.matrix()?;
                rope_factors.resize(factors.k(), 0.0);
                factors.decode_row(0, &mut rope_factors)?;
                continue;
            }
            let name = checkpoint_name(&architecture, tensor.name());
            let name = name.with_context(|| format!("tensor {:?} has no place in a checkpoint", tensor.name()))?;
            let is_projection = name.ends_with("self_attn.q_proj.weight") || name.ends_with("self_attn.k_proj.weight");
            let is_paired = architecture.rope_pairs == RopePairs::Interleaved && is_projection;
            // The 1 that norms of Gemma add to their weights.
            let add = if architecture == Architecture::GEMMA3 && name.ends_with("norm.weight") { -1.0 } else { 0.0 };
            tensors.push(Tensor {
                name,
                matrix: tensor.matrix()?,
                is_matrix: tensor.dims().len() == 2,
                paired_heads: is_paired.then_some(config.head),
                add,
            });
        }
        let embedding = tensors.iter().find(|tensor| tensor.name == EMBEDDING);
        let vocabulary = embedding.with_context(|| format!("there is no {EMBEDDING}"))?.matrix.n();
        let config = checkpoint_config(&config, vocabulary, &rope_factors);
        let config = config.with_context(|| {
            format!("{} has no checkpoints here, or {ROPE_FACTORS:?} is not that of Llama 3", architecture.name)
        })?;
        Ok(Self { config, tensors })
    }

    fn of_checkpoint(checkpoint: &Checkpoint<'a>) -> Result<Self> {
        let method = checkpoint.quantization().method;
        ensure!(method == Method::None, "its weights are quantized already, as {}", method.name());
        let mut names: Vec<_> = checkpoint.names().map(str::to_owned).collect();
        names.sort();
        let tensor = |name: String| {
            let tensor = checkpoint.require(&name)?;
            let is_matrix = tensor.shape().len() == 2;
            Ok(Tensor { name, matrix: tensor.matrix()?, is_matrix, paired_heads: None, add: 0.0 })
        };
        let tensors = names.into_iter().map(tensor).collect::<Result<Vec<_>>>()?;
        Ok(Self { config: checkpoint.config().clone(), tensors })
    }
}

impl Tensor<'_> {
    /// Row `row` as the checkpoint has it.
    pub(super) fn decode_row(&self, row: usize, out: &mut [f32]) {
        let from = match self.paired_heads {
            None => row,
            Some(head) => {
                let (first, i) = (row / head * head, row % head);
                first + i % (head / 2) * 2 + i / (head / 2)
            }
        };
        self.matrix.decode_row(from, out).expect("a row of the matrix, a buffer of its length");
        if self.add != 0.0 {
            out.iter_mut().for_each(|element| *element += self.add);
        }
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;

    use super::*;

    #[test]
    fn the_halves_of_a_head_are_put_apart() {
        // Rows 0 to 7 of one element: two heads of four rows, the halves of which take turns.
        let bytes: Vec<u8> = (0..8).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let matrix = Matrix::new(GgmlType::F32, 8, 1, &bytes).expect("a matrix");
        let tensor = Tensor { name: String::new(), matrix, is_matrix: true, paired_heads: Some(4), add: -1.0 };
        let rows: Vec<f32> = (0..8)
            .map(|row| {
                let mut out = [0.0];
                tensor.decode_row(row, &mut out);
                out[0] + 1.0
            })
            .collect();
        assert_eq!(rows, [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    }
}
