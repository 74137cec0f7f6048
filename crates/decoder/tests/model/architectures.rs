//! What the architectures beside llama have of their own: that it is demanded, and what it does.

use keepq_blocks::GgmlType;
use keepq_decoder::{Config, Local, Logits, Model, Rope, Session, Settings};
use keepq_gemm::Residency;
use keepq_gguf::Gguf;
use keepq_simd::Tier;

use crate::load::error_of;
use crate::tiny::{EMBEDDING, EXPERTS, FEED_FORWARD, HEADS, Key, Tiny, WINDOW};

/// The logits after the last of `tokens`.
fn last_logits(tiny: &Tiny, tokens: &[u32]) -> Vec<f32> {
    let file = tiny.write();
    let gguf = Gguf::parse(&file).unwrap();
    let model = Model::load(&gguf, Residency::Keep).unwrap();
    let settings = Settings::new(Tier::best(), 1, Residency::Keep).unwrap();
    let mut session = Session::new(&model, settings.driver(), tokens.len()).unwrap();
    session.feed(tokens, Logits::Last).unwrap().to_vec()
}

/// The first layer alone, which in gemma3 sees a window.
fn first_layer(architecture: &str) -> Tiny {
    let mut tiny = Tiny::of(architecture);
    tiny.tensors.retain(|tensor| !tensor.name.starts_with("blk.") || tensor.name.starts_with("blk.0."));
    tiny.set(&format!("{architecture}.block_count"), Key::U32(1))
}

#[test]
fn a_token_sees_exactly_its_window() {
    let tiny = first_layer("gemma3");
    // With one layer, keys and values are those of single tokens.
    let tokens: Vec<u32> = (10..10 + WINDOW as u32 + 3).collect();
    let want = last_logits(&tiny, &tokens);
    for i in 0..tokens.len() {
        let mut other = tokens.clone();
        other[i] = 40;
        let is_seen = i + WINDOW >= tokens.len();
        assert_eq!(last_logits(&tiny, &other) != want, is_seen, "token {i} of {}", tokens.len());
    }
}

#[test]
fn every_sixth_layer_sees_all() {
    // Layers without weights of their own pass the stream on; the sixth is the only one that attends.
    let blind = |seeing: &str| {
        let mut tiny = Tiny::of("gemma3");
        for tensor in &mut tiny.tensors {
            let is_output = tensor.name.ends_with("attn_output.weight") || tensor.name.ends_with("ffn_down.weight");
            if is_output && !tensor.name.starts_with(seeing) {
                tensor.bytes.fill(0);
            }
        }
        tiny
    };
    let (tokens, others) = ([3, 4, 5, 6, 7, 8], [9, 4, 5, 6, 7, 8]);
    for layer in 0..7 {
        let tiny = blind(&format!("blk.{layer}."));
        let differs = last_logits(&tiny, &tokens) != last_logits(&tiny, &others);
        assert_eq!(differs, layer == 5, "layer {layer}");
    }
}

#[test]
fn linear_scaling_is_for_layers_that_see_all() {
    let config = config(
        Tiny::of("gemma3")
            .set("gemma3.rope.scaling.type", Key::Text("linear".into()))
            .set("gemma3.rope.scaling.factor", Key::F32(8.0)),
    );
    assert_eq!(config.rope, Rope { base: 1e6, scale: 8.0 });
    let local = Local { window: WINDOW, rope: Rope { base: 10_000.0, scale: 1.0 } };
    assert_eq!([4, 5, 6].map(|layer| config.local(layer)), [Some(local), None, Some(local)]);
}

/// Only its number of layers tells the 27B that its heads are scaled otherwise.
#[test]
fn attention_is_scaled_by_the_length_of_a_head_but_in_the_largest_gemma() {
    let of = |length: usize| 1.0 / (length as f32).sqrt();
    assert_eq!(config(Tiny::of("gemma3")).attention_scale, of(32));
    let largest = Tiny::of("gemma3").set("gemma3.block_count", Key::U32(62));
    assert_eq!(config(largest).attention_scale, of(EMBEDDING / HEADS));
    assert_eq!(config(Tiny::of("qwen3").set("qwen3.block_count", Key::U32(62))).attention_scale, of(32));
}

fn config(tiny: Tiny) -> Config {
    Config::from_gguf(&Gguf::parse(&tiny.write()).unwrap()).unwrap()
}

#[test]
fn a_mixture_of_equal_experts_is_the_block_that_each_of_them_is() {
    let mixture = Tiny::of("qwen3moe");
    let mut equal = mixture;
    let mut block = Tiny::of("qwen3");
    for tensor in &mut equal.tensors {
        if let Some(name) = tensor.name.strip_suffix("_exps.weight") {
            let slice = tensor.bytes.len() / EXPERTS;
            let first = tensor.bytes[..slice].to_vec();
            tensor.bytes = first.repeat(EXPERTS);
            block.tensors.iter_mut().find(|other| other.name == format!("{name}.weight")).unwrap().bytes = first;
        }
    }
    for tensor in &mut block.tensors {
        if let Some(same) = equal.tensors.iter().find(|other| other.name == tensor.name) {
            tensor.bytes.clone_from(&same.bytes);
        }
    }
    let tokens = [3, 14, 15, 9];
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    let want = last_logits(&block, &tokens);
    assert!(near(&last_logits(&equal, &tokens), &want));
    let scaled = equal.set("qwen3moe.expert_weights_scale", Key::F32(2.0));
    assert!(!near(&last_logits(&scaled, &tokens), &want));
}

#[test]
fn stacks_are_counted_whole() {
    let file = Tiny::of("qwen3moe").write();
    let gguf = Gguf::parse(&file).unwrap();
    let kept = Model::load(&gguf, Residency::Keep).unwrap();
    let matrices = gguf.tensors().iter().filter(|tensor| tensor.dims().len() > 1);
    assert_eq!(kept.report().kept_bytes as u64, matrices.map(|tensor| tensor.byte_size().unwrap()).sum::<u64>());
    assert!(kept.report().expansions.is_empty());

    let expanded = Model::load(&gguf, Residency::ExpandNk).unwrap();
    let stacks: Vec<_> =
        expanded.report().expansions.iter().filter(|expansion| expansion.tensor.ends_with("_exps.weight")).collect();
    // Two of a layer's three are of types with blocks, in the second layer one.
    assert_eq!(stacks.len(), 3);
    assert!(stacks.iter().all(|expansion| expansion.bytes == 2 * EXPERTS * FEED_FORWARD * EMBEDDING));
}

#[test]
fn what_qwen2_must_hold() {
    let errors = [
        Tiny::of("qwen2").without("blk.1.attn_k.bias"),
        Tiny::of("qwen2").replace("blk.0.attn_v.bias", GgmlType::F32, 1, EMBEDDING),
        with_vector(Tiny::of("qwen2"), "blk.0.attn_output.bias"),
        with_vector(Tiny::of("qwen2"), "blk.0.attn_q_norm.weight"),
        with_vector(Tiny::of("qwen2"), "rope_freqs.weight"),
        Tiny::of("qwen2").set("qwen2.attention.sliding_window", Key::U32(4096)),
        Tiny::of("qwen2").set("qwen2.expert_count", Key::U32(60)),
        Tiny::of("qwen2").set("qwen2.attention.causal", Key::Bool(false)),
        Tiny::of("qwen2").set("qwen2.rope.scaling.attn_factor", Key::F32(1.2)),
    ]
    .map(error_of);
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn what_qwen3_must_hold() {
    let errors = [
        Tiny::of("qwen3").without("blk.0.attn_q_norm.weight"),
        Tiny::of("qwen3").replace("blk.1.attn_k_norm.weight", GgmlType::F32, 1, 16),
        Tiny::of("qwen3").without("qwen3.attention.key_length"),
        Tiny::of("qwen3").set("qwen3.attention.value_length", Key::U32(16)),
        with_vector(Tiny::of("qwen3"), "blk.0.attn_q.bias"),
        with_vector(Tiny::of("qwen3"), "blk.0.post_ffw_norm.weight"),
    ]
    .map(error_of);
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn what_qwen3moe_must_hold() {
    let stack = |slices, n, k| {
        let mut tiny = Tiny::of("qwen3moe").without("blk.1.ffn_down_exps.weight");
        tiny.add_stack("blk.1.ffn_down_exps.weight", GgmlType::Q8_0, slices, n, k);
        tiny
    };
    let errors = [
        Tiny::of("qwen3moe").without("qwen3moe.expert_count"),
        Tiny::of("qwen3moe").set("qwen3moe.expert_count", Key::U32(5000)),
        Tiny::of("qwen3moe").set("qwen3moe.expert_used_count", Key::U32(5)),
        Tiny::of("qwen3moe").without("qwen3moe.expert_feed_forward_length"),
        Tiny::of("qwen3moe").without("blk.0.ffn_gate_inp.weight"),
        Tiny::of("qwen3moe").set("qwen3moe.expert_count", Key::U32(3)),
        stack(3, EMBEDDING, FEED_FORWARD),
        stack(EXPERTS, EMBEDDING, EMBEDDING),
        with_vector(Tiny::of("qwen3moe"), "blk.0.exp_probs_b.bias"),
        Tiny::of("qwen3moe").set("qwen3moe.expert_gating_func", Key::U32(2)),
        Tiny::of("qwen3moe").set("qwen3moe.expert_weights_norm", Key::Bool(false)),
        Tiny::of("qwen3moe").set("qwen3moe.expert_weights_scale", Key::F32(0.0)),
        Tiny::of("qwen3moe").set("qwen3moe.expert_group_count", Key::U32(2)),
        Tiny::of("qwen3moe").set("qwen3moe.expert_shared_count", Key::U32(1)),
        Tiny::of("qwen3moe").set("qwen3moe.nextn_predict_layers", Key::U32(1)),
    ]
    .map(error_of);
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn what_gemma3_must_hold() {
    let pattern = |pattern| Tiny::of("gemma3").set("gemma3.attention.sliding_window_pattern", pattern);
    let errors = [
        Tiny::of("gemma3").without("blk.6.post_attention_norm.weight"),
        Tiny::of("gemma3").without("blk.0.post_ffw_norm.weight"),
        Tiny::of("gemma3").set("gemma3.final_logit_softcapping", Key::F32(30.0)),
        Tiny::of("gemma3").set("gemma3.attn_logit_softcapping", Key::F32(50.0)),
        pattern(Key::U32(2)),
        pattern(Key::Bools(vec![true, false, true, false, true, false, true])),
        pattern(Key::Text("local".into())),
        Tiny::of("gemma3").set("gemma3.attention.sliding_window", Key::U32(u32::MAX)),
        Tiny::of("gemma3").set("gemma3.rope.freq_base_swa", Key::F32(-1.0)),
        Tiny::of("gemma3").set("gemma3.attention.key_length_swa", Key::U32(16)),
        Tiny::of("gemma3").set("gemma3.attention.value_length_swa", Key::U32(16)),
        Tiny::of("gemma3").set("gemma3.rope.dimension_count_swa", Key::U32(16)),
    ]
    .map(error_of);
    insta::assert_snapshot!(errors.join("\n"));
}

/// Keys that ask for what is there anyway are no reason to refuse a file, and change nothing.
#[test]
fn keys_that_ask_for_nothing_new_are_accepted() {
    let tokens = [3, 14, 15, 9, 26, 5];
    let want = last_logits(&Tiny::of("gemma3"), &tokens);
    for (key, value) in [
        ("attention.sliding_window_pattern", Key::U32(6)),
        ("attention.sliding_window_pattern", Key::Bools(vec![true, true, true, true, true, false, true])),
        ("rope.freq_base_swa", Key::F32(10_000.0)),
        ("attention.key_length_swa", Key::U32(32)),
        ("final_logit_softcapping", Key::F32(0.0)),
        ("rope.scaling.factor", Key::F32(1.0)),
        ("rope.scaling.type", Key::Text("none".into())),
    ] {
        let tiny = Tiny::of("gemma3").set(&format!("gemma3.{key}"), value);
        assert_eq!(last_logits(&tiny, &tokens), want, "{key}");
    }
    let without_windows = Tiny::of("gemma3").without("gemma3.attention.sliding_window");
    assert_ne!(last_logits(&without_windows, &tokens), want);
}

fn with_vector(mut tiny: Tiny, name: &str) -> Tiny {
    tiny.add(name, GgmlType::F32, 1, EMBEDDING);
    tiny
}
