//! Models of each architecture, a few kilobytes, with several types among their matrices.

use keepq_blocks::{GgmlType, encode_row};
use keepq_gguf::write::Writer;

pub(crate) const EMBEDDING: usize = 64;
pub(crate) const FEED_FORWARD: usize = 96;
pub(crate) const VOCABULARY: usize = 50;
pub(crate) const HEAD: usize = 16;
pub(crate) const HEADS: usize = 4;
pub(crate) const KV_HEADS: usize = 2;
pub(crate) const EXPERTS: usize = 4;
pub(crate) const EXPERTS_USED: usize = 2;
pub(crate) const WINDOW: usize = 4;

/// A model about to be written: what a test changes before it is.
pub(crate) struct Tiny {
    pub(crate) keys: Vec<(String, Key)>,
    pub(crate) tensors: Vec<Tensor>,
}

#[derive(Clone)]
pub(crate) enum Key {
    U32(u32),
    F32(f32),
    Bool(bool),
    Bools(Vec<bool>),
    Text(String),
}

#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) ty: GgmlType,
    pub(crate) dims: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl Tiny {
    pub(crate) fn new() -> Self {
        Self::of("llama")
    }

    /// Two layers; of gemma3 seven, so that one of them sees the whole context.
    pub(crate) fn of(architecture: &str) -> Self {
        let layers = if architecture == "gemma3" { 7 } else { 2 };
        // As in the published models, the heads of some are longer than their share of the embedding.
        let head = if matches!(architecture, "llama" | "qwen2") { HEAD } else { 2 * HEAD };
        let mut tiny = Self { keys: Vec::new(), tensors: Vec::new() };
        tiny.keys.push(("general.architecture".into(), Key::Text(architecture.into())));
        let mut key = |name: &str, value| tiny.keys.push((format!("{architecture}.{name}"), value));
        key("block_count", Key::U32(layers));
        key("context_length", Key::U32(64));
        key("embedding_length", Key::U32(EMBEDDING as u32));
        key("feed_forward_length", Key::U32(FEED_FORWARD as u32));
        key("attention.head_count", Key::U32(HEADS as u32));
        key("attention.head_count_kv", Key::U32(KV_HEADS as u32));
        key("attention.layer_norm_rms_epsilon", Key::F32(1e-5));
        if head != HEAD {
            key("attention.key_length", Key::U32(head as u32));
        }
        if architecture == "gemma3" {
            key("attention.sliding_window", Key::U32(WINDOW as u32));
            key("rope.freq_base", Key::F32(1e6));
        }
        if architecture == "qwen3moe" {
            key("expert_count", Key::U32(EXPERTS as u32));
            key("expert_used_count", Key::U32(EXPERTS_USED as u32));
            key("expert_feed_forward_length", Key::U32(FEED_FORWARD as u32));
        }

        tiny.add("token_embd.weight", GgmlType::Q8_0, VOCABULARY, EMBEDDING);
        tiny.add("output_norm.weight", GgmlType::F32, 1, EMBEDDING);
        let types = [[GgmlType::Q4_1, GgmlType::Q8_0, GgmlType::F32], [GgmlType::BF16, GgmlType::Q4_1, GgmlType::F16]];
        for (i, types) in (0..layers).zip(types.into_iter().cycle()) {
            tiny.layer(architecture, i, head, types);
        }
        tiny
    }

    fn layer(&mut self, architecture: &str, i: u32, head: usize, types: [GgmlType; 3]) {
        let name = |part: &str| format!("blk.{i}.{part}.weight");
        let (q, kv) = (HEADS * head, KV_HEADS * head);
        self.add(&name("attn_norm"), GgmlType::F32, 1, EMBEDDING);
        self.add(&name("attn_q"), types[0], q, EMBEDDING);
        self.add(&name("attn_k"), types[1], kv, EMBEDDING);
        self.add(&name("attn_v"), types[2], kv, EMBEDDING);
        self.add(&name("attn_output"), types[0], EMBEDDING, q);
        self.add(&name("ffn_norm"), GgmlType::F32, 1, EMBEDDING);
        if architecture == "qwen3moe" {
            self.add(&name("ffn_gate_inp"), GgmlType::F32, EXPERTS, EMBEDDING);
            self.add_stack(&name("ffn_gate_exps"), types[1], EXPERTS, FEED_FORWARD, EMBEDDING);
            self.add_stack(&name("ffn_up_exps"), types[2], EXPERTS, FEED_FORWARD, EMBEDDING);
            self.add_stack(&name("ffn_down_exps"), types[0], EXPERTS, EMBEDDING, FEED_FORWARD);
        } else {
            self.add(&name("ffn_gate"), types[1], FEED_FORWARD, EMBEDDING);
            self.add(&name("ffn_up"), types[2], FEED_FORWARD, EMBEDDING);
            self.add(&name("ffn_down"), types[0], EMBEDDING, FEED_FORWARD);
        }
        if architecture == "qwen2" {
            for (part, len) in [("attn_q", q), ("attn_k", kv), ("attn_v", kv)] {
                self.add(&format!("blk.{i}.{part}.bias"), GgmlType::F32, 1, len);
            }
        }
        if matches!(architecture, "qwen3" | "qwen3moe" | "gemma3") {
            self.add(&name("attn_q_norm"), GgmlType::F32, 1, head);
            self.add(&name("attn_k_norm"), GgmlType::F32, 1, head);
        }
        if architecture == "gemma3" {
            self.add(&name("post_attention_norm"), GgmlType::F32, 1, EMBEDDING);
            self.add(&name("post_ffw_norm"), GgmlType::F32, 1, EMBEDDING);
        }
    }

    /// Adds a stack of `slices` matrices of `n` rows of `k` elements.
    pub(crate) fn add_stack(&mut self, name: &str, ty: GgmlType, slices: usize, n: usize, k: usize) {
        self.add(name, ty, slices * n, k);
        let added = self.tensors.last_mut().expect("it was just added");
        added.dims = vec![k as u64, n as u64, slices as u64];
    }

    /// Adds a tensor of `n` rows of `k` elements; a single row is a vector, as norms are.
    pub(crate) fn add(&mut self, name: &str, ty: GgmlType, n: usize, k: usize) {
        let seed = name.bytes().fold(1_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let mut state = seed | 1;
        let floats: Vec<f32> = (0..n * k)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                let unit = state as f32 / u32::MAX as f32;
                if n == 1 { 0.5 + unit } else { unit - 0.5 }
            })
            .collect();
        let mut bytes = vec![0; n * ty.row_bytes(k).expect("whole blocks")];
        encode_row(ty, &floats, &mut bytes).expect("finite floats");
        let dims = if n == 1 { vec![k as u64] } else { vec![k as u64, n as u64] };
        self.tensors.push(Tensor { name: name.to_owned(), ty, dims, bytes });
    }

    pub(crate) fn set(mut self, key: &str, value: Key) -> Self {
        self.keys.retain(|(name, _)| name != key);
        self.keys.push((key.to_owned(), value));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.keys.retain(|(key, _)| key != name);
        self.tensors.retain(|tensor| tensor.name != name);
        self
    }

    /// Puts a tensor of another shape or type in the place of the one with this name.
    pub(crate) fn replace(mut self, name: &str, ty: GgmlType, n: usize, k: usize) -> Self {
        self = self.without(name);
        self.add(name, ty, n, k);
        self
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        for (name, value) in &self.keys {
            match value {
                Key::U32(value) => writer.put(name, *value),
                Key::F32(value) => writer.put(name, *value),
                Key::Bool(value) => writer.put(name, *value),
                Key::Bools(values) => writer.put(name, &values[..]),
                Key::Text(value) => writer.put(name, &value[..]),
            }
            .expect("a legal key");
        }
        for Tensor { name, ty, dims, bytes } in &self.tensors {
            writer.tensor(name, *ty, dims, bytes).expect("a legal tensor");
        }
        let mut file = Vec::new();
        writer.write_to(&mut file).expect("memory takes it");
        file
    }
}
