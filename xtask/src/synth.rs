//! A small model of this project's own making, so that `bench` and tests need no network.
//!
//! It has the llama architecture with grouped-query attention and a tied head. Its matrices have all types that a file can
//! store and that run here, and lengths of `k` that are a multiple of 256 (512) and none (288, 416). The bytes depend on
//! nothing but this code: the same on every machine.
//!
//! What llama.cpp makes of it is stored in `goldens/tokens/keepq-synthetic.json`; a change of the bytes needs a new one.
//!
//! The weights are random, with one structure, so that the largest logits are apart as they are in a trained model: the
//! feed-forward blocks hold associations, `token -> what follows` ([`weights`]).

pub(crate) mod architectures;
pub(crate) mod large;
pub(crate) mod random;
mod vocabulary;
mod weights;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use keepq_blocks::{GgmlType, encode_row};
use keepq_checkpoint::{Method, Recipe, ZeroPoints};
use keepq_gguf::write::Writer;

use crate::commands::quantize::checkpoint::{self, KeptFloats};
use crate::model_files::ModelFiles;
use crate::{files, sha256};
use random::Random;
use vocabulary::Vocabulary;
use weights::{Embeddings, Shape};

/// The file's name.
const FILE: &str = "keepq-synthetic.gguf";

/// The types of the five matrices of a layer that read the residual stream. They take turns from layer to layer, so that
/// each type comes in three different places at least.
const TYPES: [GgmlType; 13] = [
    GgmlType::Q4_0,
    GgmlType::Q2_K,
    GgmlType::F16,
    GgmlType::Q4_1,
    GgmlType::Q3_K,
    GgmlType::Q8_0,
    GgmlType::Q4_K,
    GgmlType::BF16,
    GgmlType::Q5_0,
    GgmlType::Q5_K,
    GgmlType::F32,
    GgmlType::Q5_1,
    GgmlType::Q6_K,
];

/// The types of the other two, whose rows are no multiple of 256. With eight layers, both have every type once.
const SHORT_TYPES: [GgmlType; 8] = [
    GgmlType::Q4_0,
    GgmlType::Q4_1,
    GgmlType::Q5_0,
    GgmlType::Q5_1,
    GgmlType::Q8_0,
    GgmlType::F16,
    GgmlType::BF16,
    GgmlType::F32,
];

/// The turn of `ffn_down` in [`SHORT_TYPES`]: F16 in the last layer. One strong neuron there takes the token itself out of the
/// stream ([`weights`]); quantized in one block with it, weak neurons would round to steps that are seen in the logits.
const DOWN_TURN: usize = 6;

/// The type of the embedding, which is the head too: what published files have there.
const EMBEDDING_TYPE: GgmlType = GgmlType::Q6_K;

const SHAPE: Shape = Shape { layers: 8, embedding: 512, feed_forward: 416, heads: 9, kv_heads: 3, head: 32 };

/// Positions that a context may have.
const CONTEXT: u32 = 8192;

/// The path of the model in `folder`, where it is written unless it is there.
pub(crate) fn file_in(folder: &Path) -> Result<PathBuf> {
    write_unless_there(folder.join(FILE), &bytes()?)
}

/// The path of a checkpoint of the same model in `folder`, where it is made unless it is there: symmetric GPTQ, which each path takes.
pub(crate) fn checkpoint_in(folder: &Path) -> Result<PathBuf> {
    let file = file_in(folder)?;
    let recipe = Recipe::new(Method::Gptq(ZeroPoints::LessOne), 32, false).context("a recipe")?;
    // Another file, another checkpoint.
    let out = folder.join(format!("keepq-synthetic-gptq-{}", &sha256::of_file(&file)?[..12]));
    if !out.is_dir() {
        let files = ModelFiles::open(&file, false)?;
        let pool = rayon::ThreadPoolBuilder::new().build()?;
        checkpoint::write_folder(&files.parse()?, recipe, KeptFloats::default(), &out, &pool)?;
    }
    Ok(out)
}

/// Writes a file unless it is there with these bytes.
fn write_unless_there(path: PathBuf, bytes: &[u8]) -> Result<PathBuf> {
    if fs::read(&path).ok().as_deref() != Some(bytes) {
        files::write(&path, bytes)?;
    }
    Ok(path)
}

/// The bytes of the file.
fn bytes() -> Result<Vec<u8>> {
    let vocabulary = Vocabulary::new();
    let tensors = tensors(&vocabulary).context("cannot encode the synthetic model")?;

    let mut writer = Writer::new();
    put_keys(&mut writer, "keepq synthetic", &SHAPE, &vocabulary)?;
    for tensor in &tensors {
        writer.tensor(&tensor.name, tensor.ty, &tensor.dims, &tensor.data)?;
    }
    let mut bytes = Vec::new();
    writer.write_to(&mut bytes)?;
    Ok(bytes)
}

/// Adds all keys of a model of this shape.
fn put_keys(writer: &mut Writer<'_>, name: &str, shape: &Shape, vocabulary: &Vocabulary) -> Result<()> {
    writer.put("general.architecture", "llama")?;
    writer.put("general.name", name)?;
    writer.put("llama.context_length", CONTEXT)?;
    for (key, value) in [
        ("block_count", shape.layers),
        ("embedding_length", shape.embedding),
        ("feed_forward_length", shape.feed_forward),
        ("attention.head_count", shape.heads),
        ("attention.head_count_kv", shape.kv_heads),
        ("attention.key_length", shape.head),
        ("attention.value_length", shape.head),
        ("rope.dimension_count", shape.head),
        ("vocab_size", vocabulary.tokens.len()),
    ] {
        writer.put(&format!("llama.{key}"), u32::try_from(value)?)?;
    }
    writer.put("llama.attention.layer_norm_rms_epsilon", 1e-5_f32)?;
    writer.put("llama.rope.freq_base", 10_000.0_f32)?;
    Ok(vocabulary.put(writer)?)
}

/// A tensor as the file has it.
struct Tensor {
    name: String,
    ty: GgmlType,
    dims: Vec<u64>,
    data: Vec<u8>,
}

impl Tensor {
    /// `values` are whole rows of `k`.
    fn new(name: String, ty: GgmlType, dims: Vec<u64>, values: &[f32]) -> Result<Self> {
        let bytes = ty.row_bytes(values.len()).with_context(|| format!("{name}: no whole rows of {ty}"))?;
        let mut data = vec![0; bytes];
        encode_row(ty, values, &mut data)?;
        Ok(Self { name, ty, dims, data })
    }
}

/// All tensors, in the order of the file.
fn tensors(vocabulary: &Vocabulary) -> Result<Vec<Tensor>> {
    let mut random = Random::seeded(2026);
    let Shape { layers, embedding, feed_forward, .. } = SHAPE;
    let (tokens, words) = (vocabulary.tokens.len(), vocabulary.words());
    let embeddings = Embeddings::new(&mut random, tokens, embedding);
    let known: Vec<usize> = (0..tokens).collect();
    let matrix = |name: String, ty, k: usize, values: &[f32]| {
        Tensor::new(name, ty, vec![k as u64, (values.len() / k) as u64], values)
    };
    let vector = |name: String, values: &[f32]| Tensor::new(name, GgmlType::F32, vec![values.len() as u64], values);

    let mut tensors = vec![matrix("token_embd.weight".into(), EMBEDDING_TYPE, embedding, embeddings.values())?];
    for layer in 0..layers {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        let matrices = weights::layer(&mut random, &SHAPE, &embeddings, &known, &words, layer + 1 == layers);
        tensors.push(vector(name("attn_norm"), &random.around_one(embedding))?);
        tensors.push(vector(name("ffn_norm"), &random.around_one(embedding))?);
        let stream_type = |place| TYPES[(5 * layer + place) % TYPES.len()];
        let short_type = |turn| SHORT_TYPES[(layer + turn) % SHORT_TYPES.len()];
        for (part, ty, k, values) in [
            ("attn_q", stream_type(0), embedding, matrices.q),
            ("attn_k", stream_type(1), embedding, matrices.k),
            ("attn_v", stream_type(2), embedding, matrices.v),
            ("attn_output", short_type(0), SHAPE.q_width(), matrices.attention_output),
            ("ffn_gate", stream_type(3), embedding, matrices.gate),
            ("ffn_up", stream_type(4), embedding, matrices.up),
            ("ffn_down", short_type(DOWN_TURN), feed_forward, matrices.down),
        ] {
            tensors.push(matrix(name(part), ty, k, &values)?);
        }
    }
    tensors.push(vector("output_norm.weight".into(), &random.around_one(embedding))?);
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use keepq_decoder::tokenizer::{Special, Tokenizer};
    use keepq_decoder::{Model, Sampler, Session, Settings, generate};
    use keepq_gemm::Residency;
    use keepq_gguf::Gguf;
    use keepq_simd::Tier;

    use super::*;
    use crate::sha256;
    use crate::token_oracle::TokenOracle;

    #[test]
    fn every_type_that_can_be_written_has_several_places_and_both_kinds_of_k() {
        let bytes = bytes().expect("a model");
        let gguf = Gguf::parse(&bytes).expect("a GGUF file");
        assert!(gguf.tensor("output.weight").is_none(), "the head is tied");
        for &ty in GgmlType::ALL {
            if encode_row(ty, &[0.0; 256], &mut vec![0; ty.row_bytes(256).unwrap_or(0)]).is_err() {
                assert!(gguf.tensors().iter().all(|tensor| tensor.ty() != Ok(ty)), "{ty} cannot be written");
                continue;
            }
            let of_type = || gguf.tensors().iter().filter(|tensor| tensor.dims().len() == 2 && tensor.ty() == Ok(ty));
            // `blk.3.ffn_up.weight` has the place `ffn_up`.
            let places: HashSet<_> = of_type().filter_map(|tensor| tensor.name().split('.').nth(2)).collect();
            assert!(places.len() >= 3, "{ty}: {places:?}");
            let rows: HashSet<_> = of_type().map(|tensor| tensor.dims()[0]).collect();
            let wanted = if ty.block_len() == 256 { vec![512] } else { vec![288, 416, 512] };
            assert_eq!(rows, HashSet::from_iter(wanted), "{ty}");
        }
    }

    /// The bytes are the same on every machine, and what is stored of llama.cpp is of these bytes.
    #[test]
    fn its_token_oracle_is_of_this_file() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = file_in(dir.path()).expect("a written model");
        let sha256 = sha256::of_file(&path).expect("a digest");
        let (_, oracle) = TokenOracle::find(&TokenOracle::folder(), &sha256).expect("an oracle of this file");
        assert_eq!(oracle.model, "keepq-synthetic");
    }

    #[test]
    fn it_is_written_once_and_mended() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = file_in(dir.path()).expect("a written model");
        let whole = fs::read(&path).expect("a file");
        fs::write(&path, &whole[..1000]).expect("a damaged file");
        assert_eq!(file_in(dir.path()).expect("the same path"), path);
        assert_eq!(fs::read(&path).expect("a file"), whole);
    }

    /// Greedy tokens that are always the same would hide what goes wrong in a context.
    #[test]
    fn greedy_tokens_vary_and_depend_on_the_context() {
        let bytes = bytes().expect("a model");
        let gguf = Gguf::parse(&bytes).expect("a GGUF file");
        let tokenizer = Tokenizer::from_gguf(&gguf).expect("a tokenizer");
        let settings = Settings::new(Tier::best(), 1, Residency::Keep).expect("one thread");
        let model = Model::load(&gguf, settings.residency()).expect("a model");
        assert_eq!(tokenizer.token_count(), model.vocabulary());

        let greedy = |prompt: &str| {
            let prompt = tokenizer.encode(prompt, Special::Parse).expect("ids");
            let mut session = Session::new(&model, settings.driver(), prompt.len() + 32).expect("a small context");
            generate(&mut session, &mut Sampler::greedy(), &prompt, 32, |_| true).expect("tokens")
        };
        let tokens = greedy("The weights stay");
        let different: HashSet<_> = tokens.iter().collect();
        assert!(different.len() >= 8, "{tokens:?}");
        // The last token is the same, so that only attention can tell the two apart.
        assert_ne!(tokens, greedy("They all stay"));
    }
}
