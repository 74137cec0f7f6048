//! [`Tensors`]: takes tensors out of a checkpoint, and converts weights for a path.

use std::collections::HashSet;

use keepq_checkpoint::{Checkpoint, CheckpointError, Form, Linear, Method, Tensor};
use keepq_gemm::{FourBit, FourBitWeight, Residency, W4A16Switches, W4A16Weight, WeightStack};
use keepq_tinygemm::select::{Config as PathConfig, Fit, Path};

use super::checkpoint_name;
use crate::layers::Store;
use crate::weights::Weight;
use crate::{Architecture, Config, Conversion, LoadReport, ModelError};

/// Takes tensors out of a checkpoint, and remembers which.
pub(super) struct Tensors<'c, 'a> {
    checkpoint: &'c Checkpoint<'a>,
    architecture: Architecture,
    path: Option<Path>,
    config: PathConfig,
    used: HashSet<String>,
    report: LoadReport,
    /// Told of each tensor whose bytes are needed no longer.
    converted: &'c dyn Fn(&Tensor<'a>),
}

impl<'c, 'a> Tensors<'c, 'a> {
    pub(super) fn of(
        checkpoint: &'c Checkpoint<'a>,
        config: &Config,
        path: Option<Path>,
        converted: &'c dyn Fn(&Tensor<'a>),
    ) -> Self {
        let (architecture, report) = (config.architecture, LoadReport::default());
        let config = checkpoint.quantization().config;
        Self { checkpoint, architecture, path, config, used: HashSet::new(), report, converted }
    }

    /// Whether there is a weight of this name, in any form.
    pub(super) fn has(&self, name: &str) -> bool {
        self.checkpoint.parts_of(&self.prefix(name)).next().is_some()
    }

    /// A weight where it lies.
    pub(super) fn linear(&mut self, name: &str, n: usize, k: usize) -> Result<Linear<'a>, ModelError> {
        let prefix = self.prefix(name);
        self.used.extend(self.checkpoint.parts_of(&prefix));
        Ok(self.checkpoint.linear(&prefix, (n, k))?)
    }

    /// The embedding as the head: converted as other weights are where it is quantized, or is to be.
    pub(super) fn tied_head(&mut self, embedding: Linear<'a>) -> Result<Weight<'a>, ModelError> {
        let quantized = self.checkpoint.quantization().method != Method::None;
        let keeps_floats = quantized || !self.config.quantize_embedding;
        if keeps_floats && let Form::Float(matrix) = embedding.form() {
            self.warn_of_float_head(embedding.name(), matrix.bytes().len());
            return self.hold_floats(&embedding);
        }
        self.hold(embedding)
    }

    fn warn_of_float_head(&mut self, name: &str, bytes: usize) {
        if self.path.is_some() {
            self.report.warnings.push(format!(
                "{name}: the head is not quantized: its {:.1} MB are read for every token",
                bytes as f64 / 1e6
            ));
        }
    }

    /// The name of a weight without its last part.
    fn prefix(&self, name: &str) -> String {
        let name = checkpoint_name(&self.architecture, name).unwrap_or_else(|| name.to_owned());
        name.strip_suffix(".weight").map(str::to_owned).unwrap_or(name)
    }

    /// Converts a weight for the path, or holds it where it lies.
    fn hold(&mut self, linear: Linear<'a>) -> Result<Weight<'a>, ModelError> {
        self.report.warnings.extend(linear.doubt(self.checkpoint.quantization().symmetric));
        let Some(path) = self.path else { return self.hold_floats(&linear) };
        // What a quantized checkpoint leaves as floats is left so here.
        if matches!(linear.form(), Form::Float(_)) && self.checkpoint.quantization().method != Method::None {
            if linear.name().ends_with("lm_head") {
                self.warn_of_float_head(linear.name(), linear.bytes());
            }
            return self.hold_floats(&linear);
        }
        let group = self.config.group_size;
        let (weights, order, fit) = match path {
            Path::W4A16 { layout, .. } => {
                let converted = linear.to_w4a16(layout, group)?;
                let held = W4A16Weight::new(converted.weights, W4A16Switches::from(&self.config));
                let held = held.map_err(|_| CheckpointError::NoMemory {
                    tensor: linear.name().to_owned(),
                    bytes: linear.n() * linear.k() / 2,
                })?;
                (FourBit::W4A16(held), converted.order, converted.fit)
            }
            Path::W4A8 { .. } => {
                let converted = linear.to_w4a8(group)?;
                (FourBit::W4A8(converted.weights), converted.order, converted.fit)
            }
            Path::Int4 { .. } => {
                let converted = linear.to_int4()?;
                (FourBit::Int4(converted.weights), converted.order, converted.fit)
            }
            Path::Fallback { .. } => {
                let converted = linear.to_wna16(group)?;
                (FourBit::Wna16(converted.weights), converted.order, converted.fit)
            }
        };
        let weight = FourBitWeight::new(weights, order);
        if matches!((linear.form(), path), (Form::W4A8(_), Path::W4A8 { .. })) {
            self.report.kept_bytes += linear.bytes();
        } else {
            self.count(&linear, &weight, fit);
        }
        Ok(Weight::FourBit(Box::new(weight)))
    }

    fn hold_floats(&mut self, linear: &Linear<'a>) -> Result<Weight<'a>, ModelError> {
        let Form::Float(matrix) = linear.form() else {
            return Err(ModelError::NoPath { tensor: linear.name().into() });
        };
        let weight = keepq_gemm::Weight::new(*matrix, Residency::Strict).map_err(|_| no_kernel(linear))?;
        self.report.kept_bytes += linear.bytes();
        Ok(Weight::Blocks(weight))
    }

    /// Adds a converted weight to the report, and gives its tensors back.
    fn count(&mut self, linear: &Linear<'a>, weight: &FourBitWeight<'a>, fit: Fit) {
        let tensor = linear.name().to_owned();
        self.report.converted_bytes += weight.bytes();
        self.report.conversions.push(Conversion { tensor, fit, bytes: weight.bytes(), copy: weight.expansion() });
        for name in self.checkpoint.parts_of(linear.name()) {
            if let Some(tensor) = self.checkpoint.tensor(&name) {
                (self.converted)(&tensor);
            }
        }
    }

    /// Nothing in the checkpoint may be left over: a bias that is silently ignored gives wrong results. One of zeros, which makers of GPTQ files
    /// write for every weight, changes nothing.
    pub(super) fn finish(self) -> Result<LoadReport, ModelError> {
        let mut left: Vec<_> = self.checkpoint.names().filter(|&name| !self.used.contains(name)).collect();
        left.sort_unstable();
        for name in left {
            let changes_nothing = name.ends_with(".rotary_emb.inv_freq")
                || name.ends_with(".bias")
                    && self.checkpoint.require(name)?.floats()?.iter().all(|&element| element == 0.0);
            if !changes_nothing {
                return Err(ModelError::Unused { tensor: name.to_owned() });
            }
        }
        Ok(self.report)
    }
}

impl<'a> Store<'a> for Tensors<'_, 'a> {
    fn weight(&mut self, name: &str, n: usize, k: usize) -> Result<Weight<'a>, ModelError> {
        let linear = self.linear(name, n, k)?;
        self.hold(linear)
    }

    fn stack(&mut self, name: &str, _: usize, _: usize, _: usize) -> Result<WeightStack<'a>, ModelError> {
        Err(CheckpointError::MissingTensor { tensor: name.to_owned() }.into())
    }

    fn floats(&mut self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let name = checkpoint_name(&self.architecture, name).unwrap_or_else(|| name.to_owned());
        let tensor = self.checkpoint.require(&name)?;
        let mut floats = tensor.floats()?;
        if floats.len() != len || tensor.shape().len() != 1 {
            let (found, expected) = (tensor.shape().to_vec(), format!("[{len}]"));
            return Err(CheckpointError::Shape { tensor: name, found, expected }.into());
        }
        // GGUF files have the 1 that norms of Gemma add to their weights in the weights, checkpoints do not.
        if self.architecture == Architecture::GEMMA3 && name.ends_with("norm.weight") {
            floats.iter_mut().for_each(|weight| *weight += 1.0);
        }
        self.used.insert(name);
        Ok(floats)
    }
}

fn no_kernel(linear: &Linear<'_>) -> ModelError {
    ModelError::NoPath { tensor: linear.name().to_owned() }
}
