//! What tensors are called in checkpoints.

use crate::Architecture;

/// The parts of a layer: what GGUF calls them, and what checkpoints do.
const OF_LAYERS: [(&str, &str); 11] = [
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("attn_norm", "input_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

/// The name that a tensor of a GGUF file has in a checkpoint of the same model; `None` where checkpoints have no such tensor.
///
/// ```
/// use keepq_decoder::{Architecture, checkpoint_name};
///
/// let name = checkpoint_name(&Architecture::LLAMA, "blk.3.attn_q.weight");
/// assert_eq!(name.as_deref(), Some("model.layers.3.self_attn.q_proj.weight"));
/// ```
#[must_use]
pub fn checkpoint_name(architecture: &Architecture, name: &str) -> Option<String> {
    match name {
        "token_embd.weight" => return Some("model.embed_tokens.weight".into()),
        "output_norm.weight" => return Some("model.norm.weight".into()),
        "output.weight" => return Some("lm_head.weight".into()),
        _ => {}
    }
    let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
    let (part, kind) = part.rsplit_once('.')?;
    let part = match part {
        // Where what a block adds is normed too, the norm before the second block has a name of its own.
        "ffn_norm" if architecture.post_norms => "pre_feedforward_layernorm",
        "ffn_norm" | "post_attention_norm" => "post_attention_layernorm",
        _ => OF_LAYERS.iter().find(|(gguf, _)| *gguf == part)?.1,
    };
    Some(format!("model.layers.{layer}.{part}.{kind}"))
}
