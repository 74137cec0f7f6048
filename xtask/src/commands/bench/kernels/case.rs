//! [`Case`]: what one row of the bench multiplies, and [`cases`], all of them.

use std::fmt;

use anyhow::{Context, Result};
use keepq_blocks::GgmlType;
use serde::{Deserialize, Serialize};

use super::four_bit::FourBit;

/// The types that have kernels, by bits a weight.
pub(crate) const TYPES: [GgmlType; 13] = [
    GgmlType::Q2_K,
    GgmlType::Q3_K,
    GgmlType::Q4_0,
    GgmlType::Q4_1,
    GgmlType::Q4_K,
    GgmlType::Q5_0,
    GgmlType::Q5_1,
    GgmlType::Q5_K,
    GgmlType::Q6_K,
    GgmlType::Q8_0,
    GgmlType::F16,
    GgmlType::BF16,
    GgmlType::F32,
];

/// A square one as attention has it, and the two of a feed-forward block.
pub(super) const SHAPES: [(usize, usize); 3] = [(4096, 4096), (14336, 4096), (2048, 6144)];

/// One token, few, and two batches.
pub(super) const TOKENS: [usize; 4] = [1, 8, 128, 512];

/// What the weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Rows of blocks.
    Blocks(GgmlType),
    /// Codes of a path beside GGUF.
    FourBit(FourBit),
}

impl Type {
    /// Its blocks.
    ///
    /// # Errors
    /// It has none.
    pub(super) fn blocks(self) -> Result<GgmlType> {
        match self {
            Self::Blocks(ty) => Ok(ty),
            Self::FourBit(_) => None.with_context(|| format!("{self}: no type of blocks")),
        }
    }
}

impl From<GgmlType> for Type {
    fn from(ty: GgmlType) -> Self {
        Self::Blocks(ty)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks(ty) => f.write_str(ty.name()),
            Self::FourBit(four_bit) => four_bit.fmt(f),
        }
    }
}

/// `y[m,n] = x[m,k] · w[n,k]ᵀ` on some threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) ty: Type,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) m: usize,
    pub(super) threads: usize,
}

impl Case {
    /// Operations, two a multiply-add.
    pub(super) fn operations(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Bytes of the weights; none where there is no such shape, or they are more than can be counted.
    pub(super) fn weight_bytes(&self) -> Option<usize> {
        match self.ty {
            Type::Blocks(ty) => ty.row_bytes(self.k)?.checked_mul(self.n),
            Type::FourBit(four_bit) => four_bit.bytes(self.n, self.k),
        }
    }

    /// Whether the weights come from memory, as those of a model do that is larger than the caches. Where several tokens share them
    /// they are needed once for all of these, and what is measured is the multiplication; so it is for the paths of 4 bits, whose
    /// peers are known by such figures.
    pub(super) const fn is_cold(&self) -> bool {
        self.m == 1 && matches!(self.ty, Type::Blocks(_))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ty, n, k, m, threads } = self;
        write!(f, "{ty}, n {n}, k {k}, m {m}, threads {threads}")
    }
}

/// A case as processes tell it each other.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct CaseMessage {
    /// ggml's id of the blocks; none of what has none.
    ty: Option<u32>,
    n: usize,
    k: usize,
    m: usize,
    threads: usize,
}

impl From<Case> for CaseMessage {
    fn from(Case { ty, n, k, m, threads }: Case) -> Self {
        Self { ty: ty.blocks().ok().map(GgmlType::id), n, k, m, threads }
    }
}

impl TryFrom<CaseMessage> for Case {
    type Error = anyhow::Error;

    fn try_from(CaseMessage { ty, n, k, m, threads }: CaseMessage) -> Result<Self> {
        let ty = GgmlType::from_id(ty.context("no type of blocks")?)?;
        Ok(Self { ty: ty.into(), n, k, m, threads })
    }
}

/// Type by type, then shape by shape, then by m.
pub(super) fn cases(types: &[Type], shapes: &[(usize, usize)], tokens: &[usize], threads: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in types {
        for &(n, k) in shapes {
            cases.extend(tokens.iter().map(|&m| Case { ty, n, k, m, threads }));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiply_add_is_two_operations() {
        let case = Case { ty: GgmlType::Q4_K.into(), n: 3, k: 256, m: 2, threads: 1 };
        assert_eq!((case.operations(), case.weight_bytes()), (3072.0, Some(3 * 144)));
        assert_eq!(Case { k: 255, ..case }.weight_bytes(), None);
    }

    #[test]
    fn cases_go_type_by_type() {
        let cases = cases(&[GgmlType::F16.into(), GgmlType::F32.into()], &[(1, 2), (3, 4)], &[5, 6], 7);
        let short: Vec<_> = cases.iter().map(|case| (case.ty, case.n, case.k, case.m)).collect();
        let [f16, f32] = [GgmlType::F16, GgmlType::F32].map(Type::Blocks);
        assert_eq!(short[..3], [(f16, 1, 2, 5), (f16, 1, 2, 6), (f16, 3, 4, 5)]);
        assert_eq!((short.len(), short[4]), (8, (f32, 1, 2, 5)));
        assert!(cases.iter().all(|case| case.threads == 7));
    }

    #[test]
    fn a_case_is_the_same_in_another_process() {
        let case = Case { ty: GgmlType::Q6_K.into(), n: 1, k: 256, m: 3, threads: 2 };
        let text = serde_json::to_string(&CaseMessage::from(case)).expect("JSON");
        let back: CaseMessage = serde_json::from_str(&text).expect("a case");
        assert_eq!(Case::try_from(back).expect("a type of blocks"), case);
    }
}
