//! `dot/<type>/<what>`: every one of a few weight rows by every one of a few tokens, one strip and one token a time.

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_dot::{Product, Scratch};

use crate::case::{Golden, Runner};
use crate::foreign::ForeignInput;
use crate::inputs::{Floats, Weights, real_rows, real_tokens};
use crate::naive::{NaiveType, TYPES};
use crate::{Blessing, Case, Output};

struct Dot {
    ty: &'static NaiveType,
    k: usize,
    rows: Vec<Vec<u8>>,
    tokens: Vec<Vec<f32>>,
    /// Whether ggml's answer is a number that can be compared.
    is_foreign: bool,
}

/// Blocks in a row, or chunks of 32 numbers.
const BLOCKS: [usize; 6] = [1, 2, 3, 5, 7, 16];

const ROWS: [Weights; 4] = [
    Weights::Encoded(Floats::Gaussian),
    Weights::Encoded(Floats::Asymmetric),
    Weights::Encoded(Floats::Outlier),
    Weights::Codes,
];
const TOKENS: [Floats; 4] = [Floats::Gaussian, Floats::Asymmetric, Floats::Outlier, Floats::Ones];

const EDGE_ROWS: [Weights; 2] = [Weights::Edges, Weights::Codes];
const EDGE_TOKENS: [Floats; 4] = [Floats::Ones, Floats::Ties, Floats::Zeros, Floats::Small];

const EXTREME_ROWS: [Weights; 2] = [Weights::Extremes, Weights::Large];
const EXTREME_TOKENS: [Floats; 3] = [Floats::Flat, Floats::Ones, Floats::Peaks];

const NON_FINITE_ROWS: [Weights; 2] = [Weights::NonFinite, Weights::Encoded(Floats::Gaussian)];
const NON_FINITE_TOKENS: [Floats; 4] = [Floats::NonFinite, Floats::Huge, Floats::Limits, Floats::Gaussian];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &ty in TYPES {
        let mut push = |name: &str, k, rows, tokens, is_foreign| {
            cases.push(Case::new(format!("dot/{}/{name}", ty.ty), Dot { ty, k, rows, tokens, is_foreign }));
        };
        let mut push_made = |name: &str, blocks: usize, rows: &[Weights], tokens: &[Floats], is_foreign| {
            // Numbers need not come in blocks: five are left over, of a kernel's eight.
            let k = ty.chunk() * blocks + if ty.is_float() { 5 } else { 0 };
            let seed = 300 + blocks as u64;
            let rows = rows.iter().zip(seed..).map(|(weights, seed)| weights.row(ty, k, seed)).collect();
            let tokens =
                tokens.iter().zip(seed + 50..).map(|(floats, seed)| floats.row_of(ty.chunk(), k, seed)).collect();
            push(name, k, rows, tokens, is_foreign);
        };
        for blocks in BLOCKS {
            push_made(&format!("{blocks}-blocks"), blocks, &ROWS, &TOKENS, true);
        }
        push_made("edges", Weights::EDGE_BLOCKS, &EDGE_ROWS, &EDGE_TOKENS, true);
        if !ty.is_float() {
            push_made("extremes", Weights::EXTREME_BLOCKS, &EXTREME_ROWS, &EXTREME_TOKENS, true);
        }
        push_made("non-finite", 6, &NON_FINITE_ROWS, &NON_FINITE_TOKENS, false);
        if let Some((k, rows)) = real_rows(ty) {
            push("smollm2", k, rows, real_tokens(k), true);
        }
    }
    cases
}

impl Golden for Dot {
    fn run(&self, runner: &Runner) -> Output {
        let bytes = self.rows.concat();
        let w = Matrix::new(self.ty.ty, self.rows.len(), self.k, &bytes).expect("whole rows");
        let format = ActFormat::for_weights(self.ty.ty).expect("the type has a dot");
        let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
        let mut y = vec![0.0; self.rows.len()];
        let mut output = Output::default();
        for token in &self.tokens {
            let x = buffer.quantize(format, 1, self.k, token).expect("whole blocks");
            let product = Product::new(x, w).expect("the type's own activations");
            scratch.fit(&product);
            runner.tier.strip(product, &mut y, &mut scratch);
            output.push_floats(&y);
        }
        output
    }

    fn bless(&self) -> Blessing {
        let mut output = Output::default();
        for token in &self.tokens {
            for row in &self.rows {
                output.push_floats([&self.ty.dot(row, token)]);
            }
        }
        Blessing::Naive(output)
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        self.is_foreign.then_some(ForeignInput::Dot { ty: self.ty, rows: &self.rows, tokens: &self.tokens })
    }
}
