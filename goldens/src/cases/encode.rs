//! `encode/<type>/<floats>`: floats to bytes.

use keepq_blocks::{GgmlType, encode_row};

use crate::case::{Golden, Runner};
use crate::foreign::{Conversion, ForeignInput};
use crate::inputs::{Floats, fresh_rows, real_tokens};
use crate::naive::{NaiveType, TYPES};
use crate::{Case, Output};

struct Encode {
    ty: &'static NaiveType,
    x: Vec<f32>,
    is_defined_in_ggml: bool,
}

/// Elements of a row: every kind of block that a [`Floats`] has, several times.
const K: usize = 32 * 48;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in TYPES {
        let mut push = |name: &str, x, is_defined_in_ggml| {
            cases.push(Case::new(format!("encode/{}/{name}", ty.ty), Encode { ty, x, is_defined_in_ggml }));
        };
        for (seed, floats) in Floats::FINITE.into_iter().enumerate() {
            // Numbers alone are defined everywhere.
            let is_defined = floats.is_defined_in_ggml() || ty.is_float();
            push(floats.name(), floats.row(K, 100 + seed as u64), is_defined);
        }
        push("smollm2", real_tokens().concat(), true);
    }
    cases
}

/// Rows of all kinds that C defines.
pub(super) fn fresh(seed: u64, rows: usize) -> Vec<Case> {
    let case = |&ty: &&'static NaiveType| {
        let x = fresh_rows(seed, rows);
        Case::new(format!("encode/{}/fresh", ty.ty), Encode { ty, x, is_defined_in_ggml: true })
    };
    TYPES.iter().map(case).collect()
}

impl Golden for Encode {
    fn run(&self, _: &Runner) -> Output {
        let mut bytes = vec![0; self.x.len() / self.ty.elements * self.ty.bytes];
        encode_row(self.ty.ty, &self.x, &mut bytes).expect("finite elements, whole blocks");
        Output::of_bytes(bytes)
    }

    fn bless(&self) -> Output {
        Output::of_bytes(self.ty.encode_row(&self.x))
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        // F32 needs no function.
        let is_asked = self.is_defined_in_ggml && self.ty.ty != GgmlType::F32;
        is_asked.then_some(ForeignInput::Conversion(Conversion::Encode { ty: self.ty.ty, x: &self.x }))
    }
}
