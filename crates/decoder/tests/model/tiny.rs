//! A llama-architecture model of two layers, a few kilobytes, with every stored type among its matrices.

use keepq_blocks::{GgmlType, encode_row};
use keepq_gguf::write::Writer;

pub(crate) const EMBEDDING: usize = 64;
pub(crate) const FEED_FORWARD: usize = 96;
pub(crate) const VOCABULARY: usize = 50;
pub(crate) const HEAD: usize = 16;
pub(crate) const HEADS: usize = 4;
pub(crate) const KV_HEADS: usize = 2;

/// A model about to be written: what a test changes before it is.
pub(crate) struct Tiny {
    pub(crate) keys: Vec<(String, Key)>,
    pub(crate) tensors: Vec<Tensor>,
}

#[derive(Clone)]
pub(crate) enum Key {
    U32(u32),
    F32(f32),
    String(&'static str),
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
        let key = |name: &str, value| (name.to_owned(), value);
        let keys = vec![
            key("general.architecture", Key::String("llama")),
            key("llama.block_count", Key::U32(2)),
            key("llama.context_length", Key::U32(64)),
            key("llama.embedding_length", Key::U32(EMBEDDING as u32)),
            key("llama.feed_forward_length", Key::U32(FEED_FORWARD as u32)),
            key("llama.attention.head_count", Key::U32(HEADS as u32)),
            key("llama.attention.head_count_kv", Key::U32(KV_HEADS as u32)),
            key("llama.attention.layer_norm_rms_epsilon", Key::F32(1e-5)),
        ];
        let mut tiny = Self { keys, tensors: Vec::new() };
        let kv = KV_HEADS * HEAD;
        tiny.add("token_embd.weight", GgmlType::Q8_0, VOCABULARY, EMBEDDING);
        tiny.add("output_norm.weight", GgmlType::F32, 1, EMBEDDING);
        for (i, types) in
            [[GgmlType::Q4_1, GgmlType::Q8_0, GgmlType::F32], [GgmlType::BF16, GgmlType::Q4_1, GgmlType::F16]]
                .into_iter()
                .enumerate()
        {
            let name = |part: &str| format!("blk.{i}.{part}.weight");
            tiny.add(&name("attn_norm"), GgmlType::F32, 1, EMBEDDING);
            tiny.add(&name("attn_q"), types[0], EMBEDDING, EMBEDDING);
            tiny.add(&name("attn_k"), types[1], kv, EMBEDDING);
            tiny.add(&name("attn_v"), types[2], kv, EMBEDDING);
            tiny.add(&name("attn_output"), types[0], EMBEDDING, EMBEDDING);
            tiny.add(&name("ffn_norm"), GgmlType::F32, 1, EMBEDDING);
            tiny.add(&name("ffn_gate"), types[1], FEED_FORWARD, EMBEDDING);
            tiny.add(&name("ffn_up"), types[2], FEED_FORWARD, EMBEDDING);
            tiny.add(&name("ffn_down"), types[0], EMBEDDING, FEED_FORWARD);
        }
        tiny
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
            match *value {
                Key::U32(value) => writer.put(name, value),
                Key::F32(value) => writer.put(name, value),
                Key::String(value) => writer.put(name, value),
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
