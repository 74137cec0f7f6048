//! A model as large as a small published one, all its matrices of one type: to measure speed, and to see each type at work
//! on rows of 2048 and 8192, beside llama.cpp.
//!
//! It has the sizes of Llama 3.2 1B, a tied head, and weights like those of the small model. Nothing of it is kept in memory
//! but some rows at a time; they are encoded in parallel, and the bytes are the same on every machine.

mod rows;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use keepq_blocks::{GgmlType, encode_row};
use keepq_gguf::write::Writer;
use keepq_gguf::{Gguf, Source};
use rayon::prelude::*;

use super::put_keys;
use super::vocabulary::Vocabulary;
use super::weights::Shape;
use crate::files::Replacement;
use rows::{Matrix, Rows, Weights};

/// What the command line calls the model.
pub(crate) const NAME: &str = "synth-1b";

const SHAPE: Shape = Shape { layers: 16, embedding: 2048, feed_forward: 8192, heads: 32, kv_heads: 8, head: 64 };

/// Invented words, with which the vocabulary has 128256 tokens.
const WORDS: usize = 127_936;

const SEED: u64 = 2026;

/// Elements that are encoded between two writes.
const BATCH: usize = 1 << 20;

/// Rows of each tensor that an existing file is compared with.
const COMPARED: usize = 4;

/// The model with its matrices in one type.
pub(crate) struct Large {
    ty: GgmlType,
    shape: Shape,
    vocabulary: Vocabulary,
    weights: Weights,
}

/// A tensor: `n` rows of `k`; a vector is one.
struct Tensor {
    name: String,
    ty: GgmlType,
    k: usize,
    n: usize,
    rows: Rows,
}

impl Large {
    /// The model.
    pub(crate) fn new(ty: GgmlType) -> Self {
        Self::sized(ty, SHAPE, WORDS)
    }

    fn sized(ty: GgmlType, shape: Shape, words: usize) -> Self {
        let vocabulary = Vocabulary::with_words(words);
        // What may follow has itself something that follows: its number is a neuron's.
        let following: Vec<_> = vocabulary.words().into_iter().filter(|&word| word < shape.feed_forward).collect();
        Self { ty, shape, weights: Weights::new(SEED, shape, &following), vocabulary }
    }

    /// The path of the model in `folder`, where it is written unless it is there.
    pub(crate) fn file_in(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(format!("keepq-{NAME}-{}.gguf", self.ty.name().to_lowercase()));
        if path.exists() {
            if self.is_in(&path)? {
                return Ok(path);
            }
            eprintln!("{} is damaged or of another version: it is written again", path.display());
        }
        self.write(&path)?;
        Ok(path)
    }

    /// Whether the file is the model: its keys, its tensors, its length, and a few rows of each tensor. What is wrong elsewhere
    /// is not seen; to see it takes as long as to write the file.
    fn is_in(&self, path: &Path) -> Result<bool> {
        let source = Source::map(path)?;
        let Ok(gguf) = source.parse() else { return Ok(false) };
        Ok(self.has_same_keys(&gguf)? && self.has_same_tensors(&gguf, source.as_bytes().len() as u64)?)
    }

    fn has_same_keys(&self, gguf: &Gguf<'_>) -> Result<bool> {
        let mut keys = Vec::new();
        self.keys()?.write_to(&mut keys)?;
        Ok(gguf.metadata().eq(Gguf::parse(&keys)?.metadata()))
    }

    fn has_same_tensors(&self, gguf: &Gguf<'_>, file_len: u64) -> Result<bool> {
        let mut end = None;
        let (wanted, found) = (self.tensors(), gguf.tensors());
        if wanted.len() != found.len() {
            return Ok(false);
        }
        for (wanted, found) in wanted.iter().zip(found) {
            let is_same = found.name() == wanted.name && found.ty() == Ok(wanted.ty) && found.dims() == wanted.dims();
            let Some(data) = found.data().ok().filter(|_| is_same) else { return Ok(false) };
            let row_bytes = data.len() / wanted.n;
            for row in (0..wanted.n).step_by((wanted.n / COMPARED).max(1)) {
                let mut made = vec![0; row_bytes];
                self.encode(wanted, row, &mut vec![0.0; wanted.k], &mut made)?;
                if made != data[row * row_bytes..][..row_bytes] {
                    return Ok(false);
                }
            }
            end = found.offset().checked_add(data.len() as u64);
        }
        Ok(end.map(|end| end.next_multiple_of(gguf.alignment().into())) == Some(file_len))
    }

    /// Writes the file. Whoever reads `path` meanwhile sees nothing, or the whole file.
    fn write(&self, path: &Path) -> Result<()> {
        let mut replacement = Replacement::of(path)?;
        let tensors = self.tensors();
        let progress = ProgressBar::new(tensors.iter().map(Tensor::bytes).sum())
            .with_finish(ProgressFinish::AndClear)
            .with_style(ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} ({elapsed}) {msg}")?)
            .with_message(format!("writing {NAME}, {}", self.ty));
        let mut writer = self.keys()?;
        for tensor in &tensors {
            let stream = |out: &mut dyn Write| self.write_rows(tensor, &progress, out);
            writer.tensor_with(&tensor.name, tensor.ty, &tensor.dims(), stream)?;
        }
        writer.write_to(replacement.file()).with_context(|| format!("cannot write {}", path.display()))?;
        replacement.finish()
    }

    /// A writer that has the keys.
    fn keys(&self) -> Result<Writer<'_>> {
        let mut writer = Writer::new();
        put_keys(&mut writer, &format!("keepq {NAME} {}", self.ty), &self.shape, &self.vocabulary)?;
        Ok(writer)
    }

    /// All tensors, in the order of the file.
    fn tensors(&self) -> Vec<Tensor> {
        let Shape { layers, embedding, feed_forward, .. } = self.shape;
        let (q_width, kv_width) = (self.shape.q_width(), self.shape.kv_width());
        let norm = |name: &dyn Display, norm| Tensor {
            name: format!("{name}_norm.weight"),
            ty: GgmlType::F32,
            k: embedding,
            n: 1,
            rows: Rows::Norm(norm),
        };
        let matrix =
            |name: &dyn Display, k, n, rows| Tensor { name: format!("{name}.weight"), ty: self.ty, k, n, rows };

        let mut tensors = vec![matrix(&"token_embd", embedding, self.vocabulary.tokens.len(), Rows::Embedding)];
        for layer in 0..layers {
            tensors.push(norm(&format_args!("blk.{layer}.attn"), 2 * layer));
            tensors.push(norm(&format_args!("blk.{layer}.ffn"), 2 * layer + 1));
            for (name, k, n, kind) in [
                ("attn_q", embedding, q_width, Matrix::Query),
                ("attn_k", embedding, kv_width, Matrix::Key),
                ("attn_v", embedding, kv_width, Matrix::Value),
                ("attn_output", q_width, embedding, Matrix::AttentionOutput),
                ("ffn_gate", embedding, feed_forward, Matrix::Gate),
                ("ffn_up", embedding, feed_forward, Matrix::Up),
                ("ffn_down", feed_forward, embedding, Matrix::Down),
            ] {
                tensors.push(matrix(&format_args!("blk.{layer}.{name}"), k, n, Rows::Layer(layer, kind)));
            }
        }
        tensors.push(norm(&"output", 2 * layers));
        tensors
    }

    /// Writes the bytes of a tensor, and counts them in `progress`.
    fn write_rows(&self, tensor: &Tensor, progress: &ProgressBar, out: &mut dyn Write) -> io::Result<()> {
        let &Tensor { k, n, .. } = tensor;
        let row_bytes = tensor.bytes() as usize / n;
        let batch = (BATCH / k).clamp(1, n);
        let mut bytes = vec![0; batch * row_bytes];
        for first in (0..n).step_by(batch) {
            let bytes = &mut bytes[..(n - first).min(batch) * row_bytes];
            bytes
                .par_chunks_exact_mut(row_bytes)
                .enumerate()
                .try_for_each_init(|| vec![0.0; k], |floats, (row, out)| self.encode(tensor, first + row, floats, out))
                .map_err(io::Error::other)?;
            out.write_all(bytes)?;
            progress.inc(bytes.len() as u64);
        }
        Ok(())
    }

    /// Encodes a row to `out`; `floats` has room for its elements.
    fn encode(&self, tensor: &Tensor, row: usize, floats: &mut [f32], out: &mut [u8]) -> Result<()> {
        self.weights.row(tensor.rows, row, floats);
        encode_row(tensor.ty, floats, out).with_context(|| tensor.name.clone())
    }
}

impl Tensor {
    fn bytes(&self) -> u64 {
        (self.n * self.k / self.ty.block_len() * self.ty.block_bytes()) as u64
    }

    /// Fastest first; a vector has one.
    fn dims(&self) -> Vec<u64> {
        let dims = [self.k as u64, self.n as u64];
        dims[..if matches!(self.rows, Rows::Norm(_)) { 1 } else { 2 }].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use keepq_decoder::tokenizer::{Special, Tokenizer};
    use keepq_decoder::{Model, Sampler, Session, Settings, generate};
    use keepq_gemm::Residency;
    use keepq_simd::Tier;

    use super::super::TYPES;
    use super::*;

    /// A model like the large one that tests have time for.
    fn small(ty: GgmlType) -> Large {
        let shape = Shape { layers: 3, embedding: 256, feed_forward: 512, heads: 4, kv_heads: 2, head: 64 };
        Large::sized(ty, shape, 150)
    }

    #[test]
    fn the_sizes_are_those_of_llama_3_2_1b() {
        let model = Large::new(GgmlType::Q4_K);
        assert_eq!(model.vocabulary.tokens.len(), 128_256);
        let elements: usize = model.tensors().iter().map(|tensor| tensor.n * tensor.k).sum();
        assert_eq!(elements, 1_235_814_400);
    }

    /// Greedy tokens vary and depend on the context in every type, and a file is what its type says.
    #[test]
    fn every_type_is_written_and_runs() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for ty in TYPES {
            let path = small(ty).file_in(dir.path()).expect("a written model");
            assert_eq!(path.file_name(), Some(format!("keepq-synth-1b-{}.gguf", ty.name().to_lowercase()).as_ref()));
            let source = Source::map(&path).expect("a file");
            let gguf = source.parse().expect("a GGUF file");
            assert!(gguf.tensor("output.weight").is_none(), "the head is tied");
            let mut matrices = gguf.tensors().iter().filter(|tensor| tensor.dims().len() == 2);
            assert!(matrices.all(|tensor| tensor.ty() == Ok(ty)));

            let tokenizer = Tokenizer::from_gguf(&gguf).expect("a tokenizer");
            let settings = Settings::new(Tier::best(), 2, Residency::Keep).expect("two threads");
            let model = Model::load(&gguf, settings.residency()).expect("a model");
            let greedy = |prompt: &str| {
                let prompt = tokenizer.encode(prompt, Special::Parse).expect("ids");
                let mut session = Session::new(&model, settings.driver(), prompt.len() + 32).expect("a small context");
                generate(&mut session, &mut Sampler::greedy(), &prompt, 32, |_| true).expect("tokens")
            };
            let tokens = greedy("The weights stay");
            assert!(tokens.iter().collect::<HashSet<_>>().len() >= 8, "{ty}: {tokens:?}");
            assert_ne!(tokens, greedy("They all stay"), "{ty}");
        }
    }

    #[test]
    fn a_file_is_kept_where_it_is_the_model_and_mended_where_it_is_not() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let model = small(GgmlType::Q8_0);
        let path = model.file_in(dir.path()).expect("a written model");
        let written = || fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
        let (whole, first) = (fs::read(&path).expect("a file"), written());
        assert_eq!(model.file_in(dir.path()).expect("the same path"), path);
        assert_eq!(written(), first, "nothing was written");

        // A byte of the first row of the last matrix, where the context's length stands, the end.
        let mut damaged = [(); 3].map(|()| whole.clone());
        let gguf = Gguf::parse(&whole).expect("a GGUF file");
        damaged[0][gguf.tensor("blk.2.ffn_down.weight").expect("a tensor").offset() as usize] ^= 1;
        let key = b"llama.context_length";
        damaged[1][whole.windows(key.len()).position(|window| window == key).expect("the key") + key.len() + 4] ^= 1;
        damaged[2].truncate(whole.len() - 32);
        for bytes in damaged {
            fs::write(&path, bytes).expect("a damaged file");
            assert_eq!(model.file_in(dir.path()).expect("the same path"), path);
            assert!(fs::read(&path).expect("a file") == whole);
        }
        // Another type is another file; what is no file is in the way.
        let other = small(GgmlType::F16).file_in(dir.path()).expect("a written model");
        assert_ne!(other, path);
        fs::remove_file(&path).and_then(|()| fs::create_dir(&path)).expect("a folder");
        assert!(format!("{:#}", model.file_in(dir.path()).expect_err("a folder")).contains("q8_0.gguf"));
    }
}
