//! From opening a file to the first multiplication, step by step, for a model of a gigabyte whose vocabulary has 262,144 tokens.
//!
//! What to look at is each step by `header/read`, which is what reading the bytes of the header once costs, all of them in the
//! page cache. A vocabulary is of either kind: `gpt2` has a list of merges, `llama` scores.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::fs::File;
use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use keepq_benches::short;
use keepq_decoder::tokenizer::{Special, Tokenizer};
use keepq_decoder::{Model, Session};
use keepq_gemm::{Driver, Residency, Serial};
use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Source};
use keepq_simd::Tier;

const TOKENS: usize = 262_144;
const LAYERS: usize = 6;
const EMBEDDING: u64 = 2048;
const FEED_FORWARD: u64 = 8192;

fn startup(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for kind in ["gpt2", "llama"] {
        let path = model(folder.path(), kind);
        let header = header_bytes(&path);
        let mut group = c.benchmark_group(format!("startup/{kind}"));
        group.throughput(Throughput::Bytes(header));
        group.bench_function("header/read", |bencher| bencher.iter(|| read(&path, header)));
        group.bench_function("header/touch", |bencher| bencher.iter(|| touch(&path, header)));
        group.bench_function("parse", |bencher| {
            bencher.iter(|| {
                let source = Source::map(&path).expect("a file");
                black_box(source.parse().expect("a GGUF file"));
            });
        });
        group.bench_function("session", |bencher| {
            bencher.iter(|| {
                let source = Source::map(&path).expect("a file");
                let gguf = source.parse().expect("a GGUF file");
                let model = Model::load(&gguf, Residency::Keep).expect("a model");
                black_box(Session::new(&model, Driver::new(Tier::best(), &Serial), 512).expect("a small context"));
            });
        });
        for (name, text) in [("tokenizer", None), ("tokenizer and five words", Some("The weights stay quantized here"))]
        {
            group.bench_function(name, |bencher| {
                let source = Source::map(&path).expect("a file");
                let gguf = source.parse().expect("a GGUF file");
                bencher.iter(|| {
                    let tokenizer = Tokenizer::from_gguf(&gguf).expect("a tokenizer");
                    black_box(text.map(|text| tokenizer.encode(text, Special::Parse).expect("ids")));
                });
            });
        }
        group.finish();
        std::fs::remove_file(path).expect("a file");
    }
}

/// Reads the header into memory.
fn read(path: &Path, header: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(header as usize);
    File::open(path).and_then(|file| file.take(header).read_to_end(&mut bytes)).expect("a file");
    bytes
}

/// Maps the file and looks at every byte of the header.
fn touch(path: &Path, header: u64) -> u64 {
    let source = Source::map(path).expect("a file");
    let (words, _) = source.as_bytes()[..header as usize].as_chunks();
    words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word))
}

/// The bytes before the first tensor's data.
fn header_bytes(path: &Path) -> u64 {
    let source = Source::map(path).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    gguf.tensors().iter().map(keepq_gguf::Tensor::offset).min().expect("a tensor")
}

/// Writes a model with weights of zeros.
fn model(folder: &Path, kind: &str) -> PathBuf {
    let mut writer = Writer::new();
    let tokens: Vec<String> = (0..TOKENS).map(token).collect();
    let result = (|| {
        writer.put("general.architecture", "llama")?;
        writer.put("llama.context_length", 8192_u32)?;
        writer.put("llama.block_count", LAYERS as u32)?;
        writer.put("llama.embedding_length", EMBEDDING as u32)?;
        writer.put("llama.feed_forward_length", FEED_FORWARD as u32)?;
        writer.put("llama.attention.head_count", 16_u32)?;
        writer.put("llama.attention.layer_norm_rms_epsilon", 1e-5_f32)?;
        writer.put("tokenizer.ggml.model", kind)?;
        writer.put("tokenizer.ggml.tokens", tokens.iter().map(String::as_str).collect::<Vec<_>>())?;
        writer.put("tokenizer.ggml.token_type", vec![1_i32; TOKENS])?;
        if kind == "gpt2" {
            let merges: Vec<String> = (0..TOKENS).map(|i| format!("{} {}", token(i / 7), token(i))).collect();
            writer.put("tokenizer.ggml.pre", "llama-bpe")?;
            writer.put("tokenizer.ggml.merges", merges.iter().map(String::as_str).collect::<Vec<_>>())?;
            writer.put("tokenizer.ggml.bos_token_id", 1_u32)?;
        } else {
            writer.put("tokenizer.ggml.scores", (0..TOKENS).map(|id| -(id as f32)).collect::<Vec<_>>())?;
        }
        let mut add = |name: &str, ty: GgmlType, dims: &[u64]| {
            let rows: u64 = dims[1..].iter().product();
            let bytes = ty.row_bytes(dims[0] as usize).expect("whole blocks") as u64 * rows;
            writer.tensor_with(name, ty, dims, move |out| {
                let zeros = [0; 1 << 16];
                let mut left = bytes as usize;
                while left > 0 {
                    let some = left.min(zeros.len());
                    out.write_all(&zeros[..some])?;
                    left -= some;
                }
                Ok(())
            })
        };
        add("token_embd.weight", GgmlType::Q8_0, &[EMBEDDING, TOKENS as u64])?;
        add("output_norm.weight", GgmlType::F32, &[EMBEDDING])?;
        for layer in 0..LAYERS {
            for norm in ["attn_norm", "ffn_norm"] {
                add(&format!("blk.{layer}.{norm}.weight"), GgmlType::F32, &[EMBEDDING])?;
            }
            for square in ["attn_q", "attn_k", "attn_v", "attn_output"] {
                add(&format!("blk.{layer}.{square}.weight"), GgmlType::Q8_0, &[EMBEDDING, EMBEDDING])?;
            }
            for wide in ["ffn_gate", "ffn_up"] {
                add(&format!("blk.{layer}.{wide}.weight"), GgmlType::Q8_0, &[EMBEDDING, FEED_FORWARD])?;
            }
            add(&format!("blk.{layer}.ffn_down.weight"), GgmlType::Q8_0, &[FEED_FORWARD, EMBEDDING])?;
        }
        let path = folder.join(format!("{kind}.gguf"));
        writer.write_file(&path)?;
        Ok::<_, keepq_gguf::write::WriteError>(path)
    })();
    result.expect("a legal file")
}

/// Pieces of words, as real vocabularies have them: some begin with a space, some are not ASCII.
fn token(id: usize) -> String {
    const STARTS: [&str; 8] = ["Ġ", "", "ĠUn", "日", "Ġé", "▁", "▁The", "X"];
    let mut text = STARTS[id % STARTS.len()].to_owned();
    let mut rest = id / STARTS.len() + 26;
    while rest > 0 {
        text.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    text
}

criterion_group! {
    name = benches;
    config = short();
    targets = startup
}
criterion_main!(benches);
