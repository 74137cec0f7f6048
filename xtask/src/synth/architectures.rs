//! A tiny model of each architecture beside `llama`, so that the decoder can be compared with llama.cpp on all of them:
//! no published file is as small, and most are of sizes that no test can read.
//!
//! What llama.cpp makes of each is stored in `goldens/tokens/keepq-<architecture>.json`; a change of the bytes needs a new
//! one. The weights are made as those of the larger model are ([`weights`]), but attention says more, so that
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
    /// The model's, and the file's without the extension.
    pub(crate) name: &'static str,
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

/// How much further attention moves the stream than in the larger model.
const ATTENTION: f32 = 2.0;

/// Positions that local layers see: a fraction of the prompts.
const WINDOW: u32 = 16;

/// Positions that a context may have.
const CONTEXT: u32 = 2048;

impl Tiny {
    /// One of each architecture.
    pub(crate) const ALL: [Self; 4] = [
        Self {
            name: "keepq-qwen2",
            architecture: Architecture::QWEN2,
            seed: 1,
            shape: Shape { layers: 4, embedding: 128, feed_forward: 512, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q8_0, GgmlType::Q5_0, GgmlType::Q4_1],
            down: GgmlType::Q6_K,
            tied: false,
        },
        Self {
            name: "keepq-qwen3",
            architecture: Architecture::QWEN3,
            seed: 7,
            shape: Shape { layers: 4, embedding: 96, feed_forward: 512, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q5_1, GgmlType::Q8_0],
            down: GgmlType::Q5_K,
            tied: true,
        },
        Self {
            name: "keepq-qwen3moe",
            architecture: Architecture::QWEN3MOE,
            seed: 1,
            shape: Shape { layers: 3, embedding: 96, feed_forward: 256, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q8_0, GgmlType::Q5_0],
            down: GgmlType::Q4_K,
            tied: false,
        },
        // Five layers that see a window, one that sees all, and two with a window again.
        Self {
            name: "keepq-gemma3",
            architecture: Architecture::GEMMA3,
            seed: 2,
            shape: Shape { layers: 8, embedding: 96, feed_forward: 512, heads: 4, kv_heads: 2, head: 32 },
            types: &[GgmlType::Q8_0, GgmlType::Q5_0, GgmlType::Q4_0],
            down: GgmlType::Q6_K,
            tied: true,
        },
    ];

    /// The path of the model in `folder`, where it is written unless it is there.
    pub(crate) fn file_in(&self, folder: &Path) -> Result<PathBuf> {
        write_unless_there(folder.join(format!("{}.gguf", self.name)), &self.bytes()?)
    }

    /// The bytes of the file.
    fn bytes(&self) -> Result<Vec<u8>> {
        let vocabulary = Vocabulary::new();
        let tensors = Tensors::new(self, &vocabulary).all()?;
        let mut writer = Writer::new();
        self.put(&mut writer)?;
        vocabulary.put(&mut writer)?;
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
        writer.put("general.name", self.name)?;
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
            writer.put(&key("rope.scaling.factor"), 4.0_f32)?;
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
    tokens: Vec<usize>,
    words: Vec<usize>,
    random: Random,
    embeddings: Embeddings,
    types: std::iter::Cycle<std::slice::Iter<'static, GgmlType>>,
    made: Vec<Tensor>,
}

impl<'t> Tensors<'t> {
    fn new(tiny: &'t Tiny, vocabulary: &Vocabulary) -> Self {
        let mut random = Random::seeded(tiny.seed);
        let mut embeddings = Embeddings::new(&mut random, vocabulary.tokens.len(), tiny.shape.embedding);
        if tiny.architecture.experts {
            embeddings.rows_mut().for_each(|embedding| address(&mut random, embedding));
        }
        let (tokens, words) = ((0..vocabulary.tokens.len()).collect(), vocabulary.words());
        Self { tiny, tokens, words, random, embeddings, types: tiny.types.iter().cycle(), made: Vec::new() }
    }

    /// All tensors, in the order of the file.
    fn all(mut self) -> Result<Vec<Tensor>> {
        let tiny = self.tiny;
        let embedding = tiny.shape.embedding;
        let embeddings = self.embeddings.values().to_vec();
        self.matrix("token_embd.weight".into(), embedding, &embeddings)?;
        for layer in 0..tiny.shape.layers {
            self.layer(layer)?;
        }
        self.norm("output_norm.weight".into(), embedding, 1.0)?;
        if !tiny.tied {
            let mut head = embeddings;
            if tiny.architecture.experts {
                // Else tokens with the same address would follow each other.
                head.chunks_exact_mut(embedding).for_each(|row| row[..EXPERTS].fill(0.0));
            }
            self.matrix("output.weight".into(), embedding, &head)?;
        }
        Ok(self.made)
    }

    fn layer(&mut self, layer: usize) -> Result<()> {
        let tiny = self.tiny;
        let Shape { embedding, feed_forward, head, .. } = tiny.shape;
        let name = |part: &str| format!("blk.{layer}.{part}");
        let is_last = layer + 1 == tiny.shape.layers;
        let Layer { q, k, v, mut attention_output, gate, up, down } = self.weights(layer, &self.tokens.clone());
        attention_output.iter_mut().for_each(|v| *v *= ATTENTION);
        if tiny.architecture.experts {
            attention_output[..EXPERTS * tiny.shape.q_width()].fill(0.0);
        }

        self.norm(name("attn_norm.weight"), embedding, 1.0)?;
        // A bias of all values moves the stream the same way everywhere: a large one would choose all tokens.
        for (part, values, bias) in [("attn_q", q, 1.0), ("attn_k", k, 1.0), ("attn_v", v, 0.2)] {
            self.matrix(name(&format!("{part}.weight")), embedding, &values)?;
            if tiny.architecture.attention_biases {
                let bias = self.random.normals(values.len() / embedding, bias);
                self.vector(name(&format!("{part}.bias")), &bias)?;
            }
        }
        if tiny.architecture.head_norms {
            self.norm(name("attn_q_norm.weight"), head, 2.0)?;
            self.norm(name("attn_k_norm.weight"), head, 1.0)?;
        }
        self.matrix(name("attn_output.weight"), tiny.shape.q_width(), &attention_output)?;
        self.norm(name("ffn_norm.weight"), embedding, 1.0)?;
        if tiny.architecture.post_norms {
            // An embedding's elements have deviation 1 here. The last layer has to take the token itself out.
            self.norm(name("post_attention_norm.weight"), embedding, 0.5)?;
            self.norm(name("post_ffw_norm.weight"), embedding, if is_last { 2.0 } else { 0.4 })?;
        }
        if tiny.architecture.experts {
            return self.experts(layer);
        }
        self.matrix(name("ffn_gate.weight"), embedding, &gate)?;
        self.matrix(name("ffn_up.weight"), embedding, &up)?;
        self.matrix(name("ffn_down.weight"), feed_forward, &down)
    }

    /// The router and the stacks.
    fn experts(&mut self, layer: usize) -> Result<()> {
        let Shape { embedding, feed_forward, .. } = self.tiny.shape;
        let name = |part: &str| format!("blk.{layer}.{part}");
        // In each layer another element of the address is the same expert's.
        let place = |expert: usize| (expert + layer) % EXPERTS;
        let mut router = self.random.normals(EXPERTS * embedding, 0.02);
        for (expert, row) in router.chunks_exact_mut(embedding).enumerate() {
            row[place(expert)] = 1.0;
        }
        self.add(name("ffn_gate_inp.weight"), GgmlType::F32, &[embedding, EXPERTS], &router)?;

        let [mut gates, mut ups, mut downs] = [const { Vec::new() }; 3];
        for expert in 0..EXPERTS {
            let is_sent_here = |&token: &usize| self.embeddings.row(token)[place(expert)] > FAR;
            let known: Vec<usize> = self.tokens.iter().copied().filter(is_sent_here).collect();
            let Layer { gate, up, down, .. } = self.weights(layer, &known);
            gates.extend(gate);
            ups.extend(up);
            downs.extend(down);
        }
        for down in downs.chunks_exact_mut(embedding * feed_forward) {
            down[..EXPERTS * feed_forward].fill(0.0);
        }
        for (part, k, n, values) in [
            ("ffn_gate_exps.weight", embedding, feed_forward, gates),
            ("ffn_up_exps.weight", embedding, feed_forward, ups),
            ("ffn_down_exps.weight", feed_forward, embedding, downs),
        ] {
            let ty = self.ty(k);
            self.add(name(part), ty, &[k, n, EXPERTS], &values)?;
        }
        Ok(())
    }

    /// The matrices of a layer, or of an expert of it, whose neurons answer to the tokens `known`.
    fn weights(&mut self, layer: usize, known: &[usize]) -> Layer {
        let shape = &self.tiny.shape;
        weights::layer(&mut self.random, shape, &self.embeddings, known, &self.words, layer + 1 == shape.layers)
    }

    fn matrix(&mut self, name: String, k: usize, values: &[f32]) -> Result<()> {
        let ty = self.ty(k);
        self.add(name, ty, &[k, values.len() / k], values)
    }

    /// The weights of a norm: numbers near `scale`.
    fn norm(&mut self, name: String, len: usize, scale: f32) -> Result<()> {
        let values: Vec<f32> = self.random.around_one(len).iter().map(|v| v * scale).collect();
        self.vector(name, &values)
    }

    fn vector(&mut self, name: String, values: &[f32]) -> Result<()> {
        self.add(name, GgmlType::F32, &[values.len()], values)
    }

    fn add(&mut self, name: String, ty: GgmlType, dims: &[usize], values: &[f32]) -> Result<()> {
        let dims = dims.iter().map(|&dim| dim as u64).collect();
        self.made.push(Tensor::new(name, ty, dims, values)?);
        Ok(())
    }

    /// The type of the next matrix, whose rows have `k` elements.
    fn ty(&mut self, k: usize) -> GgmlType {
        if k == self.tiny.shape.feed_forward { self.tiny.down } else { *self.types.next().expect("a cycle has no end") }
    }
}

/// What the elements of an address are above that say where a token goes.
const FAR: f32 = 0.2;

/// Writes a token's address into its embedding: the first elements, of which two are far above the others, say to which
/// experts it goes. No layer writes there. Else some token would be near a tie between two experts, which other last bits
/// decide otherwise: a jump that no distance between two builds bounds.
fn address(random: &mut Random, embedding: &mut [f32]) {
    let best = random.below(EXPERTS);
    let second = (best + 1 + random.below(EXPERTS - 1)) % EXPERTS;
    let address = &mut embedding[..EXPERTS];
    address.iter_mut().for_each(|element| *element = 0.1 * random.uniform());
    address[best] += 0.35;
    address[second] += 0.25;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::commands::tokens;
    use crate::sha256;
    use crate::token_oracle::TokenOracle;

    /// The proof: ids, first choices and logits are llama.cpp's, bits the same on all tiers and numbers of threads.
    #[test]
    fn tokens_are_those_of_llama_cpp() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for tiny in &Tiny::ALL {
            let path = tiny.file_in(dir.path()).expect("a written model");
            let report = tokens::prove(&path, None).expect("an oracle of this file");
            assert!(report.check().is_ok(), "{report}");
        }
    }

    /// What the proof rests on: bounds that were measured, prompts longer than a window, tokens that vary.
    #[test]
    fn their_token_oracles_can_prove_something() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for tiny in &Tiny::ALL {
            let path = tiny.file_in(dir.path()).expect("a written model");
            let sha256 = sha256::of_file(&path).expect("a digest");
            let (_, oracle) = TokenOracle::find(&TokenOracle::folder(), &sha256).expect("an oracle of this file");
            assert_eq!(oracle.model, tiny.name);
            assert!(oracle.two_builds.is_some(), "{}", tiny.name);
            let longest = oracle.prompts.iter().map(|prompt| prompt.prompt_ids.len()).max();
            assert!(longest > Some(3 * WINDOW as usize), "{}: {longest:?}", tiny.name);
            let different: HashSet<u32> =
                oracle.prompts.iter().flat_map(|prompt| &prompt.greedy_ids).copied().collect();
            assert!(different.len() >= 24, "{}: {different:?}", tiny.name);
        }
    }
}
