//! A tiny model of each architecture beside `llama`, so that the decoder can be compared with llama.cpp on all of them:
//! no published file is as small, and most are of sizes that no test can read.
//!
//! What llama.cpp makes of each is stored in `goldens/tokens/keepq-<architecture>.json`; a change of the bytes needs a new
//! one. The weights are made as those of the larger model are ([`weights`](super::weights)), but attention says more, so that
//! each of an architecture's parts decides tokens: the proof would pass without a part that decides none.

use std::path::{Path, PathBuf};

use anyhow::Result;
use keepq_blocks::GgmlType;
use keepq_decoder::Architecture;
use keepq_gguf::write::Writer;

use super::random::Random;
use super::vocabulary::Vocabulary;
use super::weights::{self, Embeddings, Layer, Shape};
use super::{Tensor, write_unless_there};

/// A tiny model.
pub(crate) struct Tiny {
    architecture: Architecture,
    seed: u64,
    shape: Shape,
    /// The types of the matrices, taken in turn.
    types: &'static [GgmlType],
    /// The type of the matrices whose rows are as long as a feed-forward block.
    down: GgmlType,
    /// Whether the embedding is the head too.
    tied: bool,
}

/// Experts of a layer, and those that a token goes to.
const EXPERTS: usize = 8;
const EXPERTS_USED: usize = 2;

/// Positions that local layers see: a fraction of the prompts.
const WINDOW: u32 = 16;

/// Positions that a context may have.
const CONTEXT: u32 = 2048;

impl Tiny {
    /// One of each architecture.
    pub(crate) const ALL: [Self; 4] = [
        Self {
            architecture: Architecture::QWEN2,
            seed: 1,
            shape: Shape { layers: 4, embedding: 128, feed_forward: 512, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q8_0, GgmlType::Q5_0, GgmlType::Q4_1],
            down: GgmlType::Q6_K,
            tied: false,
        },
        Self {
            architecture: Architecture::QWEN3,
            seed: 2,
            shape: Shape { layers: 4, embedding: 96, feed_forward: 512, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q5_1, GgmlType::Q8_0],
            down: GgmlType::Q5_K,
            tied: true,
        },
        Self {
            architecture: Architecture::QWEN3MOE,
            seed: 3,
            shape: Shape { layers: 3, embedding: 96, feed_forward: 256, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q8_0, GgmlType::Q5_0],
            down: GgmlType::Q4_K,
            tied: false,
        },
        // Five layers that see a window, one that sees all, and two with a window again.
        Self {
            architecture: Architecture::GEMMA3,
            seed: 4,
            shape: Shape { layers: 8, embedding: 96, feed_forward: 512, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q8_0, GgmlType::Q5_0, GgmlType::Q4_0],
            down: GgmlType::Q6_K,
            tied: true,
        },
    ];

    /// The name of the model.
    pub(crate) fn name(&self) -> String {
        format!("keepq-{}", self.architecture.name)
    }

    /// The path of the model in `folder`, where it is written unless it is there.
    pub(crate) fn file_in(&self, folder: &Path) -> Result<PathBuf> {
        write_unless_there(folder.join(self.name() + ".gguf"), &self.bytes()?)
    }

    /// The bytes of the file.
    fn bytes(&self) -> Result<Vec<u8>> {
        let vocabulary = Vocabulary::new();
        let mut writer = Writer::new();
        self.put(&mut writer)?;
        vocabulary.put(&mut writer)?;
        let tensors = Tensors::new(self, &vocabulary).all()?;
        for tensor in &tensors {
            writer.tensor(&tensor.name, tensor.ty, &tensor.dims, &tensor.data)?;
        }
        let mut bytes = Vec::new();
        writer.write_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Adds the model's keys.
    fn put(&self, writer: &mut Writer<'_>) -> Result<()> {
        let Self { architecture, shape, .. } = self;
        let key = |key: &str| format!("{}.{key}", architecture.name);
        writer.put("general.architecture", architecture.name)?;
        writer.put("general.name", &*self.name())?;
        writer.put(&key("context_length"), CONTEXT)?;
        for (name, value) in [
            ("block_count", shape.layers),
            ("embedding_length", shape.embedding),
            ("feed_forward_length", shape.feed_forward),
            ("attention.head_count", shape.heads),
            ("attention.head_count_kv", shape.kv_heads),
            ("attention.key_length", shape.head),
            ("attention.value_length", shape.head),
        ] {
            writer.put(&key(name), u32::try_from(value)?)?;
        }
        writer.put(&key("attention.layer_norm_rms_epsilon"), 1e-6_f32)?;
        writer.put(&key("rope.freq_base"), 1_000_000.0_f32)?;
        if architecture.sliding_windows {
            writer.put(&key("attention.sliding_window"), WINDOW)?;
            // As in the larger Gemma 3: of the layers that see all, and of no other.
            writer.put(&key("rope.scaling.type"), "linear")?;
            writer.put(&key("rope.scaling.factor"), 8.0_f32)?;
        }
        if architecture.experts {
            writer.put(&key("expert_count"), EXPERTS as u32)?;
            writer.put(&key("expert_used_count"), EXPERTS_USED as u32)?;
            writer.put(&key("expert_feed_forward_length"), u32::try_from(shape.feed_forward)?)?;
        }
        Ok(())
    }
}

/// The tensors of a model, as they are made.
struct Tensors<'t> {
    tiny: &'t Tiny,
    words: Vec<usize>,
    random: Random,
    embeddings: Embeddings,
    types: std::iter::Cycle<std::slice::Iter<'static, GgmlType>>,
    made: Vec<Tensor>,
}

impl<'t> Tensors<'t> {
    fn new(tiny: &'t Tiny, vocabulary: &Vocabulary) -> Self {
        let mut random = Random::seeded(tiny.seed);
        let embeddings = Embeddings::new(&mut random, vocabulary.tokens.len(), tiny.shape.embedding);
        let words = vocabulary.words();
        Self { tiny, words, random, embeddings, types: tiny.types.iter().cycle(), made: Vec::new() }
    }

    /// All tensors, in the order of the file.
    fn all(mut self) -> Result<Vec<Tensor>> {
        let Tiny { shape, tied, .. } = self.tiny;
        let embeddings = self.embeddings.values().to_vec();
        self.matrix("token_embd.weight", shape.embedding, &embeddings)?;
        for layer in 0..shape.layers {
            self.layer(layer)?;
        }
        self.norm("output_norm.weight", shape.embedding, 1.0)?;
        if !tied {
            self.matrix("output.weight", shape.embedding, &embeddings)?;
        }
        Ok(self.made)
    }

    fn layer(&mut self, layer: usize) -> Result<()> {
        let &Tiny { architecture, ref shape, .. } = self.tiny;
        let Shape { embedding, head, .. } = *shape;
        let name = |part: &str| format!("blk.{layer}.{part}");
        let is_last = layer + 1 == shape.layers;
        let Layer { q, k, v, attention_output, gate, up, down } = self.weights(is_last);
        // Attention moves the stream about as far as the feed-forward blocks do.
        let attention_output: Vec<f32> = attention_output.iter().map(|v| v * 3.0).collect();

        self.norm(&name("attn_norm.weight"), embedding, 1.0)?;
        for (part, values) in [("attn_q", q), ("attn_k", k), ("attn_v", v)] {
            self.matrix(&name(&format!("{part}.weight")), embedding, &values)?;
            if architecture.attention_biases {
                let bias = self.random.normals(values.len() / embedding, 1.0);
                self.vector(&name(&format!("{part}.bias")), bias)?;
            }
        }
        if architecture.head_norms {
            self.norm(&name("attn_q_norm.weight"), head, 2.0)?;
            self.norm(&name("attn_k_norm.weight"), head, 1.0)?;
        }
        self.matrix(&name("attn_output.weight"), shape.q_width(), &attention_output)?;
        self.norm(&name("ffn_norm.weight"), embedding, 1.0)?;
        if architecture.post_norms {
            // An embedding's elements have deviation 1 here.
            self.norm(&name("post_attention_norm.weight"), embedding, 0.5)?;
            self.norm(&name("post_ffw_norm.weight"), embedding, if is_last { 1.5 } else { 0.4 })?;
        }
        if architecture.experts {
            let router = self.random.normals(EXPERTS * embedding, 2.0 / (embedding as f32).sqrt());
            self.push(Tensor::new(name("ffn_gate_inp.weight"), GgmlType::F32, vec![embedding as u64, EXPERTS as u64], &router)?);
            self.experts(&name, [gate, up, down], is_last)
        } else {
            self.matrix(&name("ffn_gate.weight"), embedding, &gate)?;
            self.matrix(&name("ffn_up.weight"), embedding, &up)?;
            self.matrix(&name("ffn_down.weight"), shape.feed_forward, &down)
        }
    }

    fn weights(&mut self, is_last: bool) -> Layer {
        weights::layer(&mut self.random, &self.tiny.shape, &self.embeddings, &self.words, is_last)
    }

    /// The stacks, of which the first expert is given.
    fn experts(&mut self, name: &dyn Fn(&str) -> String, first: [Vec<f32>; 3], is_last: bool) -> Result<()> {
        let Shape { embedding, feed_forward, .. } = self.tiny.shape;
        let [mut gates, mut ups, mut downs] = first;
        for _ in 1..EXPERTS {
            let Layer { gate, up, down, .. } = self.weights(is_last);
            gates.extend(gate);
            ups.extend(up);
            downs.extend(down);
        }
        self.stack(&name("ffn_gate_exps.weight"), embedding, &gates)?;
        self.stack(&name("ffn_up_exps.weight"), embedding, &ups)?;
        self.stack(&name("ffn_down_exps.weight"), feed_forward, &downs)
    }

    fn stack(&mut self, name: &str, k: usize, values: &[f32]) -> Result<()> {
        let ty = self.ty(k);
        let dims = vec![k as u64, (values.len() / k / EXPERTS) as u64, EXPERTS as u64];
        self.push(Tensor::new(name.into(), ty, dims, values)?);
        Ok(())
    }

    fn matrix(&mut self, name: &str, k: usize, values: &[f32]) -> Result<()> {
        let ty = self.ty(k);
        self.push(Tensor::new(name.into(), ty, vec![k as u64, (values.len() / k) as u64], values)?);
        Ok(())
    }

    /// The weights of a norm: numbers near `scale`.
    fn norm(&mut self, name: &str, len: usize, scale: f32) -> Result<()> {
        let values = self.random.around_one(len).iter().map(|v| v * scale).collect();
        self.vector(name, values)
    }

    fn vector(&mut self, name: &str, values: Vec<f32>) -> Result<()> {
        self.push(Tensor::new(name.into(), GgmlType::F32, vec![values.len() as u64], &values)?);
        Ok(())
    }

    /// The type of the next matrix, whose rows have `k` elements.
    fn ty(&mut self, k: usize) -> GgmlType {
        if k == self.tiny.shape.feed_forward { self.tiny.down } else { *self.types.next().expect("a cycle has no end") }
    }

    fn push(&mut self, tensor: Tensor) {
        self.made.push(tensor);
    }
}
