//! A file of tensors of all kinds of shapes, types and names.

use std::path::Path;

use keepq_blocks::encode_row;
use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Source};

use crate::support::synthetic;

/// Names of matrices that are kept for what they are called.
pub(super) const KEPT: [&str; 13] = [
    "position_embd.weight",
    "token_types.weight",
    "blk.0.ffn_gate_inp.weight",
    "blk.0.attn_rel_b.weight",
    "blk.0.attn_norm.weight",
    "blk.0.attn_q.bias",
    "blk.0.laurel_l.weight",
    "blk.0.ssm_conv1d.weight",
    "blk.0.time_mix_w1.weight",
    "v.patch_embd.weight",
    "v.blk.0.attn_k.scale",
    // With a type that has no decoder, and with one that has no encoder.
    "blk.0.ffn_gate_tid2eid.weight",
    "blk.0.indexer.k_proj.weight",
];

/// Names that are like them, and are not.
const LIKE_KEPT: [&str; 6] = [
    "output.weight",
    "rope_freqs.weight",
    "blk.0.ffn_gate_inp_shexp.weight",
    "blk.0.attn_norm_2.weight",
    "blk.0.time_mix_key.weight",
    "blk.10.attn_q.weight",
];

/// Numbers that look random: the middle bits of a linear congruential generator.
fn random(seed: u32, count: usize) -> impl Iterator<Item = u32> {
    let mut state = seed.wrapping_mul(2_654_435_761);
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    })
    .take(count)
}

/// Floats from -1 to 1.
fn floats(seed: u32, count: usize) -> Vec<f32> {
    random(seed, count).map(|bits| bits as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// The bytes of `count` elements.
fn data(ty: GgmlType, seed: u32, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; ty.row_bytes(count).expect("whole blocks")];
    if encode_row(ty, &floats(seed, count), &mut bytes).is_ok() {
        return bytes;
    }
    // There is no encoder: any bytes are a block, but for its scale.
    for (byte, random) in bytes.iter_mut().zip(random(seed, usize::MAX)) {
        *byte = random as u8;
    }
    for block in bytes.chunks_exact_mut(ty.block_bytes()) {
        match ty {
            GgmlType::MXFP4 => block[0] = 120,
            GgmlType::I32 => {}
            _ => block[..2].copy_from_slice(&0x2c01_u16.to_le_bytes()),
        }
    }
    bytes
}

/// Name, type and dimensions of all tensors.
fn tensors() -> Vec<(String, GgmlType, Vec<u64>)> {
    use GgmlType::{BF16, F16, F32, I32, IQ4_NL, IQ4_XS, MXFP4, Q2_K, Q4_0, Q4_K, Q5_1, Q6_K};
    let mut tensors = Vec::new();
    for (ty, dims) in [
        // Several batches of rows, and a row that is longer than a piece.
        (F32, &[256, 5000][..]),
        (F16, &[65536, 3]),
        // Rows of no block.
        (F32, &[33, 4]),
        (BF16, &[4, 7]),
        // Stacks, and a stack of rows.
        (F16, &[256, 3, 5]),
        (Q6_K, &[512, 2, 2]),
        (BF16, &[288, 3, 2]),
        (F32, &[256, 1, 3]),
        // Types that are decoded first.
        (Q4_0, &[256, 2]),
        (Q5_1, &[96, 3]),
        (Q2_K, &[256, 3]),
        (Q4_K, &[768, 5]),
        (IQ4_NL, &[64, 9]),
        (IQ4_XS, &[256, 4]),
        (MXFP4, &[96, 6]),
    ] {
        tensors.push((format!("blk.1.ffn_{}.weight", tensors.len()), ty, dims.to_vec()));
    }
    tensors.extend(LIKE_KEPT.map(|name| (name.to_owned(), F32, vec![64, 4])));
    tensors.extend(KEPT.map(|name| {
        let ty = match name {
            "blk.0.ffn_gate_tid2eid.weight" => I32,
            "blk.0.indexer.k_proj.weight" => MXFP4,
            _ => F32,
        };
        (name.to_owned(), ty, vec![64, 4])
    }));
    tensors
}

/// Writes the file: the keys of the synthetic model, with some that are replaced or left out, and tensors of its own.
pub(super) fn write_shapes(path: &Path) {
    let tensors = tensors();
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let mut writer = Writer::new();
    writer.put("split.no", 0_u16).expect("a key");
    writer.put("general.file_type", 7_u32).expect("a key");
    for (key, value) in gguf.metadata() {
        writer.put(key, value).expect("a key");
    }
    writer.put("general.quantization_version", 1_u32).expect("a key");
    // What is left of a set whose files were merged.
    writer.put("split.count", 0_u16).expect("a key");
    writer.put("split.tensors.count", tensors.len() as i32).expect("a key");
    writer.put("general.comment", "the last key").expect("a key");

    for (seed, (name, ty, dims)) in (0..).zip(tensors) {
        let count = dims.iter().product::<u64>() as usize;
        writer.tensor_with(&name, ty, &dims, move |out| out.write_all(&data(ty, seed, count))).expect("a tensor");
    }
    writer.write_file(path).expect("a written file");
}
