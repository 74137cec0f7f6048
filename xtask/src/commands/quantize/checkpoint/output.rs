//! [`Outputs`]: the tensors of the new folder, and how the bytes of each are made.

use std::borrow::Cow;

use anyhow::{Result, bail};
use half::bf16;
use indicatif::ProgressBar;
use keepq_checkpoint::{Method, Recipe, RowFault, Scales};
use rayon::prelude::*;
use safetensors::{Dtype, View};

use super::KeptFloats;
use super::source::{EMBEDDING, HEAD, Model, Tensor};

/// What becomes of each tensor.
pub(super) struct Outputs {
    /// Places among the tensors of the model.
    steps: Vec<Step>,
    /// Whether the head is the embedding's own.
    pub(super) tied: bool,
    pub(super) head_is_quantized: bool,
    pub(super) warnings: Vec<String>,
}

struct Step {
    /// The tensor that it is made of.
    of: usize,
    name: String,
    /// How it is quantized; none leaves floats.
    recipe: Option<Recipe>,
    /// Elements.
    work: u64,
}

/// A tensor of the new file.
pub(super) struct Output<'m> {
    pub(super) name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    of: &'m Tensor<'m>,
    made: Made,
    progress: ProgressBar,
}

enum Made {
    /// All elements as floats of 32 bits: norms and biases.
    F32,
    Bf16,
    Part {
        name: &'static str,
        recipe: Recipe,
        scales: std::sync::Arc<Scales>,
    },
}

impl Outputs {
    pub(super) fn plan(model: &Model<'_>, recipe: Recipe, kept: KeptFloats) -> Result<Self> {
        let tied = !model.tensors.iter().any(|tensor| tensor.name == HEAD);
        let mut outputs =
            Self { steps: Vec::new(), tied: tied && kept.head, head_is_quantized: !kept.head, warnings: Vec::new() };
        // Published forms have floats there; the others rows that are decoded one by one.
        let embedding = match recipe.method() {
            Method::Gptq(_) | Method::Awq | Method::None => None,
            Method::CpuInt4 | Method::W4A8 | Method::Int4 => {
                Recipe::new(Method::CpuInt4, recipe.group(), true).filter(|_| !kept.embedding && !outputs.tied)
            }
        };
        for (of, tensor) in model.tensors.iter().enumerate() {
            let mut step = |name: &str, recipe: Option<Recipe>| {
                let name = name.strip_suffix(".weight").unwrap_or(name).to_owned();
                let work = (tensor.matrix.n() * tensor.matrix.k()) as u64;
                outputs.steps.push(Step { of, name, recipe: recipe.filter(|_| tensor.is_matrix), work });
            };
            match tensor.name.as_str() {
                EMBEDDING => {
                    step(EMBEDDING, embedding);
                    if tied && !kept.head {
                        step(HEAD, Some(recipe));
                    }
                }
                HEAD => step(HEAD, Some(recipe).filter(|_| !kept.head)),
                name => step(name, Some(recipe)),
            }
        }
        if kept.head {
            let head = if outputs.tied { EMBEDDING } else { HEAD };
            let matrix = model.tensors.iter().find(|tensor| tensor.name == head).map(|tensor| tensor.matrix);
            let bytes = matrix.map_or(0, |matrix| 2 * matrix.n() * matrix.k());
            outputs.warnings.push(format!(
                "the head stays bf16: {:.1} MB that are read for every token, {:.1} MB if it were quantized",
                bytes as f64 / 1e6,
                bytes as f64 / 1e6 * 4.5 / 16.0
            ));
        }
        Ok(outputs)
    }

    /// Elements that are read: those that are quantized twice.
    pub(super) fn work(&self) -> u64 {
        self.steps.iter().map(|step| if step.recipe.is_some() { 2 * step.work } else { step.work }).sum()
    }

    /// Finds all scales, and says how tensors are made.
    pub(super) fn finish<'m>(&self, model: &'m Model<'m>, progress: &ProgressBar) -> Result<Vec<Output<'m>>> {
        let mut outputs = Vec::new();
        for step in &self.steps {
            let tensor = &model.tensors[step.of];
            let (n, k) = (tensor.matrix.n(), tensor.matrix.k());
            progress.set_message(step.name.clone());
            let mut output = |name: String, dtype, shape: Vec<usize>, made| {
                outputs.push(Output { name, dtype, shape, of: tensor, made, progress: progress.clone() });
            };
            let Some(recipe) = step.recipe else {
                let name =
                    if tensor.name.ends_with(".weight") { format!("{}.weight", step.name) } else { step.name.clone() };
                match tensor.is_matrix {
                    true => output(name, Dtype::BF16, vec![n, k], Made::Bf16),
                    false => output(name, Dtype::F32, vec![k], Made::F32),
                }
                continue;
            };
            let parts = match recipe.parts((n, k)) {
                Ok(parts) => parts,
                Err(error) => bail!("tensor {:?}: {error}", tensor.name),
            };
            let scales = std::sync::Arc::new(find_scales(tensor, recipe, progress)?);
            for part in parts {
                let made = Made::Part { name: part.name, recipe, scales: scales.clone() };
                output(format!("{}.{}", step.name, part.name), part.dtype, part.shape, made);
            }
        }
        Ok(outputs)
    }
}

/// Rows that a thread takes at a time.
const ROWS: usize = 16;

fn find_scales(tensor: &Tensor<'_>, recipe: Recipe, progress: &ProgressBar) -> Result<Scales> {
    let (n, k) = (tensor.matrix.n(), tensor.matrix.k());
    let groups = recipe.groups(k);
    let mut found = Scales { scales: vec![0.0; n * groups], zeros: vec![0.0; n * groups] };
    let chunk = (ROWS * groups).max(1);
    let chunks = found.scales.par_chunks_mut(chunk).zip(found.zeros.par_chunks_mut(chunk)).enumerate();
    chunks.try_for_each(|(i, (scales, zeros))| {
        let mut row = vec![0.0; k];
        let of_rows = scales.chunks_exact_mut(groups).zip(zeros.chunks_exact_mut(groups));
        for (r, (scales, zeros)) in (i * ROWS..).zip(of_rows) {
            tensor.decode_row(r, &mut row);
            recipe.scales(&row, scales, zeros).map_err(|fault| match fault {
                RowFault::NotFinite { column } => {
                    anyhow::anyhow!("tensor {:?}: row {r}, column {column}: not a finite number", tensor.name)
                }
                RowFault::ScaleOverflow { column } => anyhow::anyhow!(
                    "tensor {:?}: row {r}, column {column}: no scale of the format is large enough",
                    tensor.name
                ),
            })?;
            progress.inc(k as u64);
        }
        anyhow::Ok(())
    })?;
    Ok(found)
}

impl Output<'_> {
    /// Bytes of the tensor.
    pub(super) fn bytes(&self) -> u64 {
        (self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8) as u64
    }

    fn make(&self) -> Vec<u8> {
        let (n, k) = (self.of.matrix.n(), self.of.matrix.k());
        let rows = |to_bytes: fn(f32) -> Vec<u8>| {
            let mut row = vec![0.0; k];
            let mut bytes = Vec::new();
            for r in 0..n {
                self.of.decode_row(r, &mut row);
                bytes.extend(row.iter().flat_map(|&element| to_bytes(element)));
                self.progress.inc(k as u64);
            }
            bytes
        };
        match &self.made {
            Made::F32 => rows(|element| element.to_le_bytes().to_vec()),
            Made::Bf16 => rows(|element| bf16::from_f32(element).to_le_bytes().to_vec()),
            Made::Part { name, recipe, scales } => {
                let groups = recipe.groups(k);
                let codes = |codes: &mut [u8]| {
                    codes.par_chunks_mut((ROWS * k).max(1)).enumerate().for_each(|(i, codes)| {
                        let mut row = vec![0.0; k];
                        for (r, codes) in (i * ROWS..).zip(codes.chunks_exact_mut(k)) {
                            self.of.decode_row(r, &mut row);
                            let of_row = r * groups..(r + 1) * groups;
                            recipe.codes(&row, &scales.scales[of_row.clone()], &scales.zeros[of_row], codes);
                        }
                        self.progress.inc(codes.len() as u64);
                    });
                };
                recipe.bytes(name, (n, k), scales, codes).expect("a shape that its parts were asked of")
            }
        }
    }
}

impl View for &Output<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.make().into()
    }

    fn data_len(&self) -> usize {
        self.bytes() as usize
    }
}
