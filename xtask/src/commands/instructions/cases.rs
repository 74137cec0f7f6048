//! [`Case`]: what is counted.

use keepq_act::ActFormat;
use keepq_blocks::GgmlType;
use keepq_simd::Tier;
use serde::{Deserialize, Serialize};

use crate::commands::bench::kernels::TYPES;

/// Rows of the weights: several strips, and the last one whole.
pub(super) const N: usize = 32;

/// Elements of a row: eight super-blocks.
pub(super) const K: usize = 2048;

/// One token, few, and a batch.
const TOKENS: [usize; 3] = [1, 8, 128];

/// The portable tier multiplies floats without instructions that fuse, which takes so long that more tokens are too many for a check.
const PORTABLE_FLOAT_TOKENS: usize = 1;

/// A call that is counted.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    /// The type of the weights, or the format that activations are quantized to.
    pub(super) what: String,
    /// The tier.
    pub(super) tier: String,
    /// Tokens.
    pub(super) m: usize,
    /// Multiply-adds, or elements.
    pub(super) elements: u64,
}

/// A case, and how many instructions it took.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) case: Case,
    pub(super) count: u64,
}

impl Case {
    fn multiplication(ty: GgmlType, tier: Tier, m: usize) -> Self {
        let elements = (m * N * K) as u64;
        Self { what: ty.name().to_owned(), tier: tier.name().to_owned(), m, elements }
    }

    fn quantization(format: ActFormat, tier: Tier, m: usize) -> Self {
        Self { what: format!("to {format:?}"), tier: tier.name().to_owned(), m, elements: (m * K) as u64 }
    }

    /// `Q4_K x86-64-v3 m=128`.
    pub(super) fn name(&self) -> String {
        format!("{} {} m={}", self.what, self.tier, self.m)
    }
}

impl Measured {
    pub(super) fn name(&self) -> String {
        self.case.name()
    }

    /// Instructions a multiply-add, or an element.
    pub(super) fn per_element(&self) -> f64 {
        self.count as f64 / self.case.elements as f64
    }
}

/// Every multiplication on a tier.
pub(super) fn multiplications(tier: Tier) -> impl Iterator<Item = (Case, GgmlType)> {
    let most = move |ty| match ActFormat::for_weights(ty) {
        Some(ActFormat::F32) if tier == Tier::PORTABLE => PORTABLE_FLOAT_TOKENS,
        _ => usize::MAX,
    };
    TYPES.into_iter().flat_map(move |ty| {
        let tokens = TOKENS.into_iter().filter(move |&m| m <= most(ty));
        tokens.map(move |m| (Case::multiplication(ty, tier, m), ty))
    })
}

/// Every quantization of activations on a tier.
pub(super) fn quantizations(tier: Tier) -> impl Iterator<Item = (Case, ActFormat)> {
    [ActFormat::Q8_0, ActFormat::Q8_K].into_iter().map(move |format| (Case::quantization(format, tier, 1), format))
}

/// Whether the name is of a tier that this machine does not have.
pub(super) fn is_out_of_reach(name: &str) -> bool {
    Tier::missing().iter().any(|tier| name.contains(&format!(" {tier} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_cases_apart() {
        let names: Vec<_> = Tier::available()
            .into_iter()
            .flat_map(|tier| {
                let names = multiplications(tier).map(|(case, _)| case.name());
                names.chain(quantizations(tier).map(|(case, _)| case.name())).collect::<Vec<_>>()
            })
            .collect();
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
        assert!(
            names.contains(&"Q4_K portable m=128".to_owned()) && names.contains(&"to Q8_K portable m=1".to_owned())
        );
        assert!(!names.contains(&"F32 portable m=8".to_owned()));
        assert!(!names.iter().any(|name| is_out_of_reach(name)));
    }
}
