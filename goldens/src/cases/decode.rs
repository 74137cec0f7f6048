//! `decode/<type>/<weights>`: bytes to floats.

use keepq_blocks::{GgmlType, Matrix};

use crate::case::{Golden, Runner};
use crate::foreign::{Conversion, ForeignInput};
use crate::inputs::{Floats, Random, Weights, real_rows};
use crate::naive::{NaiveType, TYPES};
use crate::{Case, Output};

struct Decode {
    ty: &'static NaiveType,
    n: usize,
    k: usize,
    bytes: Vec<u8>,
}

const WEIGHTS: [Weights; 6] = [
    Weights::Encoded(Floats::Gaussian),
    Weights::Encoded(Floats::Outlier),
    Weights::Encoded(Floats::Small),
    Weights::Codes,
    Weights::Edges,
    Weights::NonFinite,
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in TYPES {
        let mut push = |name: &str, n: usize, bytes: Vec<u8>| {
            let k = bytes.len() / n / ty.bytes * ty.elements;
            cases.push(Case::new(format!("decode/{}/{name}", ty.ty), Decode { ty, n, k, bytes }));
        };
        for (seed, weights) in WEIGHTS.into_iter().enumerate() {
            push(weights.name(), 1, weights.row(ty, 32 * Weights::EDGE_BLOCKS, seed as u64));
        }
        if ty.bytes == 2 {
            push("all", 1, (0..=u16::MAX).flat_map(u16::to_le_bytes).collect());
        }
        if let Some((_, rows)) = real_rows(ty) {
            push("smollm2", rows.len(), rows.concat());
        }
    }
    cases
}

/// Rows of any bytes at all.
pub(super) fn fresh(seed: u64, rows: usize) -> Vec<Case> {
    let case = |&ty: &&'static NaiveType| {
        let k = ty.elements.max(32) * 3;
        let mut random = Random::new(seed);
        let bytes = (0..rows * (k / ty.elements) * ty.bytes).map(|_| random.bits() as u8).collect();
        Case::new(format!("decode/{}/fresh", ty.ty), Decode { ty, n: rows, k, bytes })
    };
    TYPES.iter().map(case).collect()
}

impl Golden for Decode {
    fn run(&self, _: &Runner) -> Output {
        let matrix = Matrix::new(self.ty.ty, self.n, self.k, &self.bytes).expect("whole rows");
        let mut row = vec![0.0; self.k];
        let mut output = Output::default();
        for i in 0..self.n {
            matrix.decode_row(i, &mut row).expect("a row of the matrix");
            output.push_floats(&row);
        }
        output
    }

    fn bless(&self) -> Output {
        Output::of_floats(&self.ty.decode_row(&self.bytes))
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        // F32 needs no function.
        let conversion = Conversion::Decode { ty: self.ty.ty, bytes: &self.bytes, elements: self.n * self.k };
        (self.ty.ty != GgmlType::F32).then_some(ForeignInput::Conversion(conversion))
    }
}
