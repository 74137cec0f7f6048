//! [`Model`]: the tensors of a file, each where it lies, with the shape that the metadata call for.

use std::collections::HashSet;

use keepq_blocks::{GgmlType, Matrix};
use keepq_gemm::{Reason, Residency, Weight};
use keepq_gguf::Gguf;

use crate::{Config, ModelError};

/// A model, ready to run: views into the mapped file. Sessions share it.
#[derive(Debug)]
pub struct Model<'a> {
    config: Config,
    /// One row a token; where the head is tied, the head's weights too.
    pub(crate) embedding: Matrix<'a>,
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) output_norm: Vec<f32>,
    pub(crate) head: Weight<'a>,
    pub(crate) rope_factors: Vec<f32>,
    report: LoadReport,
}

/// One transformer layer.
#[derive(Debug)]
pub(crate) struct Layer<'a> {
    pub attention_norm: Vec<f32>,
    pub q: Weight<'a>,
    pub k: Weight<'a>,
    pub v: Weight<'a>,
    pub attention_output: Weight<'a>,
    pub feed_forward_norm: Vec<f32>,
    pub gate: Weight<'a>,
    pub up: Weight<'a>,
    pub down: Weight<'a>,
}

/// What loading did to memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Bytes of weights that are used where the file has them.
    pub kept_bytes: usize,
    /// Bytes allocated for weights that were expanded.
    pub expanded_bytes: usize,
    /// The matrices that were expanded.
    pub expansions: Vec<Expansion>,
}

/// A matrix that is not used where the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The tensor.
    pub tensor: String,
    /// Its type in the file.
    pub ty: GgmlType,
    /// Bytes allocated.
    pub bytes: usize,
    /// Why.
    pub reason: Reason,
}

impl<'a> Model<'a> {
    /// Finds and checks every tensor. With [`Residency::Keep`] no weight is read or copied whose type has a kernel.
    ///
    /// # Errors
    /// [`ModelError`] naming the key or tensor that is missing, has another shape or an unsupported type, or has no
    /// place in the architecture.
    pub fn load(gguf: &Gguf<'a>, residency: Residency) -> Result<Self, ModelError> {
        let config = Config::from_gguf(gguf)?;
        let mut tensors = Tensors { gguf, residency, used: HashSet::new(), report: LoadReport::default() };

        let embedding = tensors.embedding(&config)?;
        let layers = (0..config.layers).map(|i| tensors.layer(i, &config)).collect::<Result<_, _>>()?;
        let output_norm = tensors.floats("output_norm.weight", config.embedding)?;
        let head = match gguf.tensor("output.weight") {
            Some(_) => tensors.weight("output.weight", embedding.n(), config.embedding)?,
            None => tensors.hold("token_embd.weight", embedding)?,
        };
        let rope_factors = match gguf.tensor("rope_freqs.weight") {
            Some(_) => tensors.floats("rope_freqs.weight", config.rope_dimensions / 2)?,
            None => Vec::new(),
        };
        let key = format!("{}.vocab_size", config.architecture);
        if let Some(found) = gguf.get::<u64>(&key)?
            && found != embedding.n() as u64
        {
            let (found, expected) = (found.to_string(), "the rows of \"token_embd.weight\"");
            return Err(ModelError::Key { key, found, expected });
        }
        let report = tensors.finish()?;
        Ok(Self { config, embedding, layers, output_norm, head, rope_factors, report })
    }

    /// The numbers that describe the model.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Tokens in the vocabulary.
    #[must_use]
    pub const fn vocabulary(&self) -> usize {
        self.embedding.n()
    }

    /// What loading did to memory.
    #[must_use]
    pub const fn report(&self) -> &LoadReport {
        &self.report
    }
}

/// Takes tensors out of a file, and remembers which.
struct Tensors<'g, 'a> {
    gguf: &'g Gguf<'a>,
    residency: Residency,
    used: HashSet<String>,
    report: LoadReport,
}

impl<'a> Tensors<'_, 'a> {
    fn embedding(&mut self, config: &Config) -> Result<Matrix<'a>, ModelError> {
        let name = "token_embd.weight";
        let matrix = self.matrix(name)?;
        if matrix.k() != config.embedding || matrix.n() == 0 {
            return Err(shape_error(name, matrix, (matrix.n().max(1), config.embedding)));
        }
        Ok(matrix)
    }

    fn layer(&mut self, i: usize, config: &Config) -> Result<Layer<'a>, ModelError> {
        let name = |part: &str| format!("blk.{i}.{part}.weight");
        let (embedding, q, kv) = (config.embedding, config.q_width(), config.kv_width());
        Ok(Layer {
            attention_norm: self.floats(&name("attn_norm"), embedding)?,
            q: self.weight(&name("attn_q"), q, embedding)?,
            k: self.weight(&name("attn_k"), kv, embedding)?,
            v: self.weight(&name("attn_v"), kv, embedding)?,
            attention_output: self.weight(&name("attn_output"), embedding, q)?,
            feed_forward_norm: self.floats(&name("ffn_norm"), embedding)?,
            gate: self.weight(&name("ffn_gate"), config.feed_forward, embedding)?,
            up: self.weight(&name("ffn_up"), config.feed_forward, embedding)?,
            down: self.weight(&name("ffn_down"), embedding, config.feed_forward)?,
        })
    }

    /// A matrix of weights of `n` rows of `k` elements.
    fn weight(&mut self, name: &str, n: usize, k: usize) -> Result<Weight<'a>, ModelError> {
        let matrix = self.matrix(name)?;
        if (matrix.n(), matrix.k()) != (n, k) {
            return Err(shape_error(name, matrix, (n, k)));
        }
        self.hold(name, matrix)
    }

    fn hold(&mut self, name: &str, matrix: Matrix<'a>) -> Result<Weight<'a>, ModelError> {
        let ty = matrix.ty();
        let weight = Weight::new(matrix, self.residency).map_err(|_| ModelError::Unsupported {
            tensor: name.to_owned(),
            ty,
            op: "multiplication in place",
        })?;
        match weight.expansion() {
            None => self.report.kept_bytes += matrix.bytes().len(),
            Some((bytes, reason)) => {
                self.report.expanded_bytes += bytes;
                self.report.expansions.push(Expansion { tensor: name.to_owned(), ty, bytes, reason });
            }
        }
        Ok(weight)
    }

    /// A vector of floats; these few are copied, so that they are plain slices.
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

    fn matrix(&mut self, name: &str) -> Result<Matrix<'a>, ModelError> {
        let matrix = self.gguf.require_tensor(name)?.matrix()?;
        self.used.insert(name.to_owned());
        Ok(matrix)
    }

    /// Nothing in the file may be left over: a bias that is silently ignored gives wrong results.
    fn finish(self) -> Result<LoadReport, ModelError> {
        match self.gguf.tensors().iter().find(|tensor| !self.used.contains(tensor.name())) {
            Some(tensor) => Err(ModelError::Unused { tensor: tensor.name().to_owned() }),
            None => Ok(self.report),
        }
    }
}

fn shape_error(name: &str, matrix: Matrix<'_>, expected: (usize, usize)) -> ModelError {
    ModelError::Shape { tensor: name.to_owned(), found: (matrix.n(), matrix.k()), expected }
}
