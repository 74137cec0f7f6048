//! Which tensors are quantized: llama.cpp's choice, by shape and name.
//!
//! What is kept takes few bytes or suffers most: vectors, norms, routers of experts, positions, and small matrices of some
//! architectures. The names are those of llama.cpp's `tensor_allows_quantization`.

use keepq_gguf::Tensor;

/// Whole names of tensors that are kept: what is known of a position and of a segment.
const KEPT_NAMES: [&str; 2] = ["position_embd.weight", "token_types.weight"];

/// Parts of such names.
const KEPT_PARTS: [&str; 35] = [
    "_norm.weight",
    // Which experts a token goes to.
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    // Gemma 3n.
    "altup",
    "laurel",
    "per_layer_model_proj",
    // Short convolutions of Mamba and others.
    "ssm_conv1d",
    "shortconv.conv.weight",
    // MiniMax.
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    // RWKV.
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    // T5.
    "attn_rel_b.weight",
    // Images.
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    // Sound.
    "a.rvq.codebook",
    "mm.a.code_embd",
];

/// Further parts of such names in models of [`GLM5_NEXT`].
const KEPT_PARTS_OF_GLM5_NEXT: [&str; 14] = [
    "hc_",
    "indexer.attn_q_b",
    "indexer.attn_k",
    "indexer.proj",
    "indexer_compressor_gate",
    "indexer_compressor_ape",
    "ssm_f_a.weight",
    "ssm_f_b.weight",
    "ssm_g_a.weight",
    "ssm_g_b.weight",
    "ssm_beta.weight",
    "attn_kv_a_mqa.weight",
    "attn_k_b.weight",
    "attn_v_b.weight",
];

/// The value of `general.architecture` whose models have more names that are kept.
const GLM5_NEXT: &str = "glm5-next";

/// Whether a tensor of a model of this architecture is quantized; otherwise it is kept as it is.
pub(super) fn is_quantized(tensor: &Tensor<'_>, architecture: &str) -> bool {
    is_matrix(tensor.dims()) && has_quantized_name(tensor.name(), architecture)
}

/// A matrix or a stack of some; a single row is a vector.
fn is_matrix(dims: &[u64]) -> bool {
    dims[1..].iter().any(|&dim| dim > 1)
}

fn has_quantized_name(name: &str, architecture: &str) -> bool {
    let has_one_of = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let is_kept = KEPT_NAMES.contains(&name)
        || has_one_of(&KEPT_PARTS)
        || (architecture == GLM5_NEXT && has_one_of(&KEPT_PARTS_OF_GLM5_NEXT));
    name.ends_with("weight") && !is_kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_kept() {
        for dims in [&[768][..], &[768, 1], &[768, 1, 1]] {
            assert!(!is_matrix(dims), "{dims:?}");
        }
        for dims in [&[768, 2][..], &[768, 1, 8], &[768, 2, 8]] {
            assert!(is_matrix(dims), "{dims:?}");
        }
    }

    #[test]
    fn names_decide() {
        for (name, expected) in [
            ("token_embd.weight", true),
            ("output.weight", true),
            ("blk.3.attn_q.weight", true),
            ("blk.3.ffn_gate.weight", true),
            ("blk.3.ffn_gate_exps.weight", true),
            ("blk.3.attn_q.bias", false),
            ("blk.3.attn_norm.weight", false),
            ("blk.3.attn_q_norm.weight", false),
            ("output_norm.weight", false),
            ("blk.3.ffn_gate_inp.weight", false),
            // The router of shared experts has another name, which llama.cpp does not keep.
            ("blk.3.ffn_gate_inp_shexp.weight", true),
            ("position_embd.weight", false),
            ("v.position_embd.weight", false),
            ("token_types.weight", false),
            ("blk.3.ssm_conv1d.weight", false),
            ("blk.3.hc_attn_fn.weight", true),
        ] {
            assert_eq!(has_quantized_name(name, "llama"), expected, "{name}");
        }
        assert!(!has_quantized_name("blk.3.hc_attn_fn.weight", GLM5_NEXT));
        assert!(has_quantized_name("blk.3.attn_q.weight", GLM5_NEXT));
    }
}
