//! What a file must hold to be a model, and what is said of one that is none.

use std::cell::RefCell;

use keepq_blocks::GgmlType;
use keepq_decoder::{Expansion, Model};
use keepq_gemm::{Reason, Residency};
use keepq_gguf::Gguf;

use crate::tiny::{EMBEDDING, FEED_FORWARD, Key, Tiny};

pub(crate) fn error_of(tiny: Tiny) -> String {
    let file = tiny.write();
    let gguf = Gguf::parse(&file).expect("a file that parses");
    Model::load(&gguf, Residency::Keep).expect_err("no model").to_string()
}

#[test]
fn nothing_is_expanded_unless_asked_for() {
    let file = Tiny::new().write();
    let gguf = Gguf::parse(&file).unwrap();
    let kept = Model::load(&gguf, Residency::Keep).unwrap();
    assert_eq!((kept.report().expansions.len(), kept.report().expanded_bytes), (0, 0));
    for residency in [Residency::ExpandKn, Residency::ExpandNk, Residency::Reference] {
        let model = Model::load(&gguf, residency).unwrap();
        let report = model.report();
        // Five matrices of the first layer, two of the second, and the tied head: those of types with blocks.
        let elements = 2 * EMBEDDING * EMBEDDING + 2 * 32 * EMBEDDING + 3 * FEED_FORWARD * EMBEDDING + 50 * EMBEDDING;
        assert_eq!((report.expansions.len(), report.expanded_bytes), (8, 2 * elements));
        assert!(report.kept_bytes < kept.report().kept_bytes);
    }
}

#[test]
fn a_type_without_a_kernel_is_expanded_and_named_or_refused() {
    let mut tiny = Tiny::new();
    let tensor = tiny.tensors.iter_mut().find(|tensor| tensor.name == "blk.0.ffn_up.weight").unwrap();
    tensor.ty = GgmlType::IQ4_NL;
    tensor.bytes = (0..GgmlType::IQ4_NL.row_bytes(EMBEDDING).unwrap() * FEED_FORWARD).map(|i| (i % 32) as u8).collect();
    let file = tiny.write();
    let gguf = Gguf::parse(&file).unwrap();

    let model = Model::load(&gguf, Residency::Keep).unwrap();
    let expansion = Expansion {
        tensor: "blk.0.ffn_up.weight".into(),
        ty: GgmlType::IQ4_NL,
        bytes: 2 * FEED_FORWARD * EMBEDDING,
        reason: Reason::NoKernel,
    };
    assert_eq!((&model.report().expansions[..], model.report().expanded_bytes), (&[expansion][..], 12_288));
    let error = Model::load(&gguf, Residency::Strict).unwrap_err().to_string();
    assert_eq!(error, "tensor \"blk.0.ffn_up.weight\": IQ4_NL does not support multiplication in place");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let errors = [
        Tiny::new().without("general.architecture"),
        Tiny::new().set("general.architecture", Key::Text("mamba".into())),
        Tiny::new().without("llama.block_count"),
        Tiny::new().set("llama.block_count", Key::Text("two".into())),
        Tiny::new().set("llama.block_count", Key::U32(3)),
        Tiny::new().set("llama.block_count", Key::U32(1)),
        Tiny::new().set("llama.attention.head_count", Key::U32(0)),
        Tiny::new().set("llama.attention.head_count", Key::U32(u32::MAX)),
        Tiny::new().set("llama.attention.head_count_kv", Key::U32(3)),
        Tiny::new().set("llama.attention.head_count", Key::U32(6)),
        Tiny::new().set("llama.attention.layer_norm_rms_epsilon", Key::F32(-1.0)),
        Tiny::new().set("llama.rope.dimension_count", Key::U32(15)),
        Tiny::new().set("llama.rope.scaling.type", Key::Text("yarn".into())),
        Tiny::new().set("llama.rope.scaling.type", Key::Text("linear".into())),
        Tiny::new().set("llama.rope.scale_linear", Key::F32(4.0)),
        Tiny::new().set("llama.vocab_size", Key::U32(51)),
        Tiny::new().set("llama.expert_count", Key::U32(8)),
        Tiny::new().without("blk.1.attn_k.weight"),
        Tiny::new().replace("blk.0.ffn_down.weight", GgmlType::Q8_0, EMBEDDING, EMBEDDING),
        Tiny::new().replace("output_norm.weight", GgmlType::Q8_0, 1, EMBEDDING),
        Tiny::new().replace("token_embd.weight", GgmlType::F32, 50, 32),
        with_extra("blk.0.attn_q.bias"),
        unsupported("blk.0.attn_v.weight"),
    ]
    .map(error_of);
    insta::assert_snapshot!(errors.join("\n"));
}

fn with_extra(name: &str) -> Tiny {
    let mut tiny = Tiny::new();
    tiny.add(name, GgmlType::F32, 1, EMBEDDING);
    tiny
}

/// A type that every reader can list and this version cannot multiply.
fn unsupported(name: &str) -> Tiny {
    let mut tiny = Tiny::new();
    let tensor = tiny.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap();
    tensor.ty = GgmlType::I8;
    tensor.bytes = vec![0; 32 * EMBEDDING];
    tiny
}

#[test]
fn the_caller_is_told_of_each_tensor_that_was_expanded() {
    for architecture in ["llama", "qwen3moe"] {
        let file = Tiny::of(architecture).write();
        let gguf = Gguf::parse(&file).unwrap();
        for residency in [Residency::Keep, Residency::ExpandNk, Residency::ExpandKn] {
            let told = RefCell::new(Vec::new());
            let model =
                Model::load_with(&gguf, residency, |tensor| told.borrow_mut().push(tensor.name().to_owned())).unwrap();
            let expanded: Vec<_> = model.report().expansions.iter().map(|expansion| expansion.tensor.clone()).collect();
            assert_eq!(told.into_inner(), expanded, "{architecture}, {residency:?}");
            assert_eq!(expanded.is_empty(), residency == Residency::Keep);
        }
    }
}
