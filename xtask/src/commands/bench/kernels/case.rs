//! [`Case`]: what one row of the bench multiplies, and [`cases`], all of them.

use keepq_blocks::GgmlType;
use serde::{Deserialize, Serialize};

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

/// `y[m,n] = x[m,k] · w[n,k]ᵀ` on some threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) ty: GgmlType,
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

    /// Bytes of the weights; none where `k` is no whole blocks, or they are more than can be counted.
    pub(super) fn weight_bytes(&self) -> Option<usize> {
        self.ty.row_bytes(self.k)?.checked_mul(self.n)
    }

    /// Whether the weights come from memory, as those of a model do that is larger than the caches. Where several tokens share them
    /// they are needed once for all of these, and what is measured is the multiplication.
    pub(super) const fn is_cold(&self) -> bool {
        self.m == 1
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ty, n, k, m, threads } = self;
        write!(f, "{ty}, n {n}, k {k}, m {m}, threads {threads}")
    }
}

/// A case as processes tell it each other.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct CaseMessage {
    ty: u32,
    n: usize,
    k: usize,
    m: usize,
    threads: usize,
}

impl From<Case> for CaseMessage {
    fn from(Case { ty, n, k, m, threads }: Case) -> Self {
        Self { ty: ty.id(), n, k, m, threads }
    }
}

impl TryFrom<CaseMessage> for Case {
    type Error = keepq_blocks::TypeIdError;

    fn try_from(CaseMessage { ty, n, k, m, threads }: CaseMessage) -> Result<Self, Self::Error> {
        Ok(Self { ty: GgmlType::from_id(ty)?, n, k, m, threads })
    }
}

/// Type by type, then shape by shape, then by m.
pub(super) fn cases(types: &[GgmlType], shapes: &[(usize, usize)], tokens: &[usize], threads: usize) -> Vec<Case> {
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
        let case = Case { ty: GgmlType::Q4_K, n: 3, k: 256, m: 2, threads: 1 };
        assert_eq!((case.operations(), case.weight_bytes()), (3072.0, Some(3 * 144)));
        assert_eq!(Case { k: 255, ..case }.weight_bytes(), None);
    }

    #[test]
    fn cases_go_type_by_type() {
        let cases = cases(&[GgmlType::F16, GgmlType::F32], &[(1, 2), (3, 4)], &[5, 6], 7);
        let short: Vec<_> = cases.iter().map(|case| (case.ty.name(), case.n, case.k, case.m)).collect();
        assert_eq!(short[..3], [("F16", 1, 2, 5), ("F16", 1, 2, 6), ("F16", 3, 4, 5)]);
        assert_eq!((short.len(), short[4]), (8, ("F32", 1, 2, 5)));
        assert!(cases.iter().all(|case| case.threads == 7));
    }

    #[test]
    fn a_case_is_the_same_in_another_process() {
        let case = Case { ty: GgmlType::Q6_K, n: 1, k: 256, m: 3, threads: 2 };
        let text = serde_json::to_string(&CaseMessage::from(case)).expect("JSON");
        let back: CaseMessage = serde_json::from_str(&text).expect("a case");
        assert_eq!(Case::try_from(back), Ok(case));
    }
}
