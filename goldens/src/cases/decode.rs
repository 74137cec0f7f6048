//! `decode/<type>/<weights>`: bytes to floats.

use keepq_blocks::{GgmlType, Matrix};

use crate::case::{Golden, Runner};
use crate::foreign::{Conversion, ForeignInput};
use crate::inputs::{Floats, Random, Weights, real_rows};
use crate::naive::{DECODED_TYPES, Encoder, NaiveType, TYPES};
use crate::{Blessing, Case, Output};

struct Decode {
    ty: &'static NaiveType,
    n: usize,
    k: usize,
    bytes: Vec<u8>,
}

const WEIGHTS: [Weights; 7] = [
    Weights::Encoded(Floats::Gaussian),
    Weights::Encoded(Floats::Outlier),
    Weights::Encoded(Floats::Small),
    Weights::Codes,
    Weights::Edges,
    Weights::NonFinite,
    Weights::Extremes,
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in TYPES.iter().chain(DECODED_TYPES) {
        let mut push = |name: &str, n: usize, bytes: Vec<u8>| {
            let k = bytes.len() / n / ty.bytes * ty.elements;
            cases.push(Case::new(format!("decode/{}/{name}", ty.ty), Decode { ty, n, k, bytes }));
        };
        for (seed, weights) in WEIGHTS.into_iter().enumerate() {
            let is_made = match weights {
                Weights::Encoded(_) => !matches!(ty.encoder, Encoder::None),
                // Of which numbers have no other than `Codes`.
                Weights::Extremes => !ty.is_float(),
                _ => true,
            };
            if is_made {
                push(weights.name(), 1, weights.row(ty, ty.chunk() * Weights::EDGE_BLOCKS, seed as u64));
            }
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
        let k = ty.chunk() * 3;
        let mut random = Random::new(seed);
        let bytes = (0..rows * (k / ty.elements) * ty.bytes).map(|_| random.bits() as u8).collect();
        Case::new(format!("decode/{}/fresh", ty.ty), Decode { ty, n: rows, k, bytes })
    };
    TYPES.iter().chain(DECODED_TYPES).map(case).collect()
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

    fn bless(&self) -> Blessing {
        Blessing::Naive(Output::of_floats(&self.ty.decode_row(&self.bytes)))
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        // F32 needs no function.
        let conversion = Conversion::Decode { ty: self.ty.ty, bytes: &self.bytes, elements: self.n * self.k };
        (self.ty.ty != GgmlType::F32).then_some(ForeignInput::Conversion(conversion))
    }
}
