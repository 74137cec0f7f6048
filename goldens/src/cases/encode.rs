//! `encode/<type>/<floats>`: floats to bytes.

use keepq_blocks::{GgmlType, encode_row};

use crate::case::{Golden, Runner};
use crate::foreign::{Conversion, ForeignInput};
use crate::inputs::{Floats, fresh_rows, real_tokens, real_weights};
use crate::naive::{Encoder, NaiveType, TYPES};
use crate::{Blessing, Case, Output};

struct Encode {
    ty: &'static NaiveType,
    x: Vec<f32>,
    is_defined_in_ggml: bool,
}

/// Chunks of a row: every kind that a [`Floats`] has, several times.
const CHUNKS: usize = 48;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in TYPES {
        let mut push = |name: &str, x, is_defined_in_ggml| {
            cases.push(Case::new(format!("encode/{}/{name}", ty.ty), Encode { ty, x, is_defined_in_ggml }));
        };
        for floats in Floats::FINITE {
            // Numbers alone are defined everywhere.
            let is_defined = floats.is_defined_in_ggml() || ty.is_float();
            // What is not defined nobody blesses where there is no naive encoder.
            if is_defined || matches!(ty.encoder, Encoder::Naive(_)) {
                // A seed of the kind's own, so that a new kind changes no other's golden.
                let x = floats.row_of(ty.chunk(), CHUNKS * ty.chunk(), 100 + floats as u64);
                push(floats.name(), x, is_defined);
            }
        }
        let mut tokens = real_tokens(576).concat();
        tokens.truncate(tokens.len() / ty.chunk() * ty.chunk());
        push("smollm2", tokens, true);
        push("smollm2-weights", real_weights(), true);
    }
    cases
}

/// Rows of all kinds that C defines.
pub(super) fn fresh(seed: u64, rows: usize) -> Vec<Case> {
    let case = |&ty: &&'static NaiveType| {
        let x = fresh_rows(ty.chunk(), seed, rows);
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

    fn bless(&self) -> Blessing {
        self.ty.encode_row(&self.x).map_or(Blessing::Ggml, |bytes| Blessing::Naive(Output::of_bytes(bytes)))
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        // F32 needs no function.
        let is_asked = self.is_defined_in_ggml && self.ty.ty != GgmlType::F32;
        is_asked.then_some(ForeignInput::Conversion(Conversion::Encode { ty: self.ty.ty, x: &self.x }))
    }
}
