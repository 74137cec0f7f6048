//! [`MultiplyAdds`]: the work of a prompt, by the instructions that do it.

use std::collections::HashSet;

use keepq_blocks::GgmlType;
use keepq_decoder::{LoadReport, Model};
use keepq_gguf::{Gguf, Tensor};
use keepq_tinygemm::select::{PathKind, Selection};
use serde::{Deserialize, Serialize};

use super::limits::Limits;

/// Multiply-adds of weights.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct MultiplyAdds {
    /// Of floats, stored or expanded.
    pub(super) floats: u64,
    /// Of bytes that both have signs: Q8_0.
    pub(super) signed_bytes: u64,
    /// Of bytes, the weights without a sign: the other block types.
    pub(super) bytes: u64,
}

impl MultiplyAdds {
    /// What `tokens` tokens of a prompt take: the layers for each, the head for the last one.
    pub(super) fn of_prompt(gguf: &Gguf<'_>, report: &LoadReport, tokens: usize) -> Self {
        let expanded: HashSet<_> = report.expansions.iter().map(|expansion| expansion.tensor.as_str()).collect();
        let mut work = Self::default();
        let mut add = |tensor: &Tensor<'_>, times: u64| {
            let kind = match tensor.ty() {
                _ if expanded.contains(tensor.name()) => &mut work.floats,
                Ok(GgmlType::F32 | GgmlType::F16 | GgmlType::BF16) => &mut work.floats,
                Ok(GgmlType::Q8_0) => &mut work.signed_bytes,
                _ => &mut work.bytes,
            };
            *kind = kind.saturating_add(tensor.elements().saturating_mul(times));
        };
        let is_matrix = |tensor: &&Tensor<'_>| tensor.name().starts_with("blk.") && tensor.dims().len() == 2;
        gguf.tensors().iter().filter(is_matrix).for_each(|tensor| add(tensor, tokens as u64));
        if let Some(head) = gguf.tensor("output.weight").or_else(|| gguf.tensor("token_embd.weight")) {
            add(head, 1);
        }
        work
    }

    /// The same of a checkpoint's model: W4A16 and the fallback multiply floats, the others bytes.
    pub(super) fn of_checkpoint(model: &Model<'_>, selection: Option<&Selection>, tokens: usize) -> Self {
        let config = model.config();
        let attention = config.embedding * (2 * config.q_width() + 2 * config.kv_width());
        let layer = (attention + 3 * config.embedding * config.feed_forward) as u64;
        let head = (model.vocabulary() * config.embedding) as u64;
        let all = (config.layers as u64 * layer).saturating_mul(tokens as u64).saturating_add(head);
        match selection.map(|selection| selection.path.kind()) {
            Some(PathKind::W4A8 | PathKind::Int4) => Self { bytes: all, ..Self::default() },
            Some(PathKind::W4A16 | PathKind::Fallback) | None => Self { floats: all, ..Self::default() },
        }
    }

    /// All of them.
    pub(super) const fn total(&self) -> u64 {
        self.floats.saturating_add(self.signed_bytes).saturating_add(self.bytes)
    }

    /// The least time that they take: each kind as fast as its probe; none where one of them was not measured.
    pub(super) fn least_seconds(&self, limits: &Limits) -> Option<f64> {
        let of_bytes = match (self.signed_bytes, self.bytes) {
            (0, 0) => 0.0,
            (signed, unsigned) => {
                let int8 = limits.int8?;
                signed as f64 / int8.signed + unsigned as f64 / int8.unsigned
            }
        };
        Some(self.floats as f64 / limits.multiply_adds + of_bytes)
    }
}

#[cfg(test)]
mod tests {
    use keepq_decoder::Expansion;
    use keepq_gemm::Reason;
    use keepq_gguf::write::Writer;

    use super::super::limits::Int8;
    use super::*;

    #[test]
    fn each_kind_is_counted_for_itself() {
        let mut writer = Writer::new();
        for (name, ty, dims) in [
            ("token_embd.weight", GgmlType::Q4_0, &[32, 3][..]),
            ("blk.0.attn_norm.weight", GgmlType::F32, &[32]),
            ("blk.0.attn_q.weight", GgmlType::Q8_0, &[32, 2]),
            ("blk.0.attn_k.weight", GgmlType::F16, &[32, 1]),
            ("blk.0.attn_v.weight", GgmlType::Q4_1, &[32, 5]),
        ] {
            let elements: u64 = dims.iter().product();
            let bytes = ty.row_bytes(elements as usize).expect("whole blocks");
            writer.tensor_with(name, ty, dims, move |out| out.write_all(&vec![0; bytes])).expect("a tensor");
        }
        let mut bytes = Vec::new();
        writer.write_to(&mut bytes).expect("a file");
        let gguf = Gguf::parse(&bytes).expect("a file");

        let kept = MultiplyAdds::of_prompt(&gguf, &LoadReport::default(), 10);
        assert_eq!(kept, MultiplyAdds { floats: 320, signed_bytes: 640, bytes: 1600 + 96 });
        assert_eq!(kept.total(), 2656);
        let limits = Limits { read: 1.0, multiply_adds: 32.0, int8: Some(Int8 { signed: 64.0, unsigned: 106.0 }) };
        assert_eq!(kept.least_seconds(&limits), Some(10.0 + 10.0 + 16.0));
        assert_eq!(kept.least_seconds(&Limits { int8: None, ..limits }), None);

        let expansion =
            Expansion { tensor: "blk.0.attn_v.weight".into(), ty: GgmlType::Q4_1, bytes: 0, reason: Reason::Asked };
        let report = LoadReport { expansions: vec![expansion], ..LoadReport::default() };
        let expanded = MultiplyAdds::of_prompt(&gguf, &report, 10);
        assert_eq!(expanded, MultiplyAdds { floats: 320 + 1600, signed_bytes: 640, bytes: 96 });
    }
}
