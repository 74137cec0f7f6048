//! `act/<form>/<floats>`: activations quantized, as [`ActRows`](keepq_act::ActRows) and in ggml's three byte forms.

use keepq_act::{ActBuf, ActFormat, Acts, Q8Rows, quantize_row_q8_1, quantize_row_q8_k};
use keepq_blocks::{BlockQ8_1, BlockQ8_K, F16, GgmlType};

use crate::case::{Golden, Runner};
use crate::foreign::{Conversion, ForeignInput};
use crate::inputs::{Floats, fresh_rows, real_tokens};
use crate::naive::{encode_q8_1, encode_q8_k, f16_bits, quantize, quantize_k};
use crate::{Blessing, Case, Output};

struct Act {
    form: Form,
    x: Vec<f32>,
    is_defined_in_ggml: bool,
}

#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "the field's names")]
enum Form {
    /// Codes, scales and integer sums, which kernels read, in blocks of 32.
    Rows,
    /// ggml's `block_q8_0`.
    Q8_0,
    /// ggml's `block_q8_1`.
    Q8_1,
    /// As [`Rows`](Self::Rows), in blocks of 256.
    RowsQ8_K,
    /// ggml's `block_q8_K`.
    Q8_K,
}

const FORMS: [(Form, &str); 5] = [
    (Form::Rows, "rows"),
    (Form::Q8_0, "Q8_0"),
    (Form::Q8_1, "Q8_1"),
    (Form::RowsQ8_K, "rows-Q8_K"),
    (Form::Q8_K, "Q8_K"),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (form, name) in FORMS {
        let mut push = |floats: &str, x, is_defined_in_ggml| {
            cases.push(Case::new(format!("act/{name}/{floats}"), Act { form, x, is_defined_in_ggml }));
        };
        let len = form.block_len();
        for floats in Floats::FINITE.into_iter().chain([Floats::NonFinite, Floats::OneNonFinite]) {
            // A seed of the kind's own, so that a new kind changes no other's golden.
            push(floats.name(), floats.row_of(len, 48 * len, 200 + floats as u64), floats.is_defined_in_ggml());
        }
        let mut tokens = real_tokens(576).concat();
        tokens.truncate(tokens.len() / len * len);
        push("smollm2", tokens, true);
    }
    cases
}

/// Rows of all kinds that C defines.
pub(super) fn fresh(seed: u64, rows: usize) -> Vec<Case> {
    let case = |(form, name): (Form, _)| {
        let x = fresh_rows(form.block_len(), seed, rows);
        Case::new(format!("act/{name}/fresh"), Act { form, x, is_defined_in_ggml: true })
    };
    FORMS.into_iter().map(case).collect()
}

impl Form {
    const fn block_len(self) -> usize {
        match self {
            Self::Rows | Self::Q8_0 | Self::Q8_1 => 32,
            Self::RowsQ8_K | Self::Q8_K => 256,
        }
    }
}

impl Act {
    /// The codes, scales and sums of [`ActRows`](keepq_act::ActRows).
    fn with_rows(&self, runner: &Runner, format: ActFormat, write: impl FnOnce(Q8Rows<'_>, &mut Output)) -> Output {
        let (mut buffer, mut output) = (ActBuf::new(), Output::default());
        let rows = runner.tier.quantize(&mut buffer, format, 1, self.x.len(), &self.x).expect("whole blocks");
        match (format, rows.typed()) {
            (ActFormat::Q8_0, Acts::Q8_0(rows)) | (ActFormat::Q8_K, Acts::Q8_K(rows)) => write(rows, &mut output),
            (_, other) => panic!("{format} was asked for, not {other:?}"),
        }
        output
    }
}

impl Golden for Act {
    fn run(&self, runner: &Runner) -> Output {
        match self.form {
            Form::Rows => self.with_rows(runner, ActFormat::Q8_0, |Q8Rows { codes, scales, sums }, output| {
                for ((codes, scale), sums) in codes.iter().zip(scales).zip(sums) {
                    output.push_floats([scale]);
                    output.push_bytes(&(i32::from(sums[0]) + i32::from(sums[1])).to_le_bytes());
                    push_codes(output, codes);
                }
            }),
            Form::Q8_0 => self.with_rows(runner, ActFormat::Q8_0, |Q8Rows { codes, scales, .. }, output| {
                for (codes, scale) in codes.iter().zip(scales) {
                    output.push_f16(F16::from_f32(*scale).to_bits());
                    push_codes(output, codes);
                }
            }),
            Form::Q8_1 => {
                let mut blocks = vec![BlockQ8_1::encode(&[0.0; 32]); self.x.len() / 32];
                quantize_row_q8_1(&self.x, &mut blocks);
                let mut output = Output::default();
                for block in &blocks {
                    output.push_f16(block.d.to_bits());
                    output.push_f16(block.s.to_bits());
                    push_codes(&mut output, &block.qs);
                }
                output
            }
            Form::RowsQ8_K => self.with_rows(runner, ActFormat::Q8_K, |Q8Rows { codes, scales, sums }, output| {
                for ((codes, scale), sums) in codes.chunks(8).zip(scales).zip(sums.chunks(8)) {
                    output.push_floats([scale]);
                    push_sums(output, sums.as_flattened());
                    push_codes(output, codes.as_flattened());
                }
            }),
            Form::Q8_K => {
                let mut blocks = vec![BlockQ8_K::encode(&[0.0; 256]); self.x.len() / 256];
                quantize_row_q8_k(&self.x, &mut blocks);
                let mut output = Output::default();
                for block in &blocks {
                    output.push_floats([&block.d.to_f32()]);
                    push_codes(&mut output, &block.qs);
                    push_sums(&mut output, &block.sums());
                }
                output
            }
        }
    }

    fn bless(&self) -> Blessing {
        let mut output = Output::default();
        for x in self.x.chunks(self.form.block_len()) {
            match self.form {
                Form::Rows => {
                    let x = quantize(x);
                    output.push_floats([&x.a]);
                    output.push_bytes(&x.sum().to_le_bytes());
                    push_codes(&mut output, &x.codes);
                }
                Form::Q8_0 => {
                    let x = quantize(x);
                    output.push_f16(f16_bits(x.a));
                    push_codes(&mut output, &x.codes);
                }
                Form::Q8_1 => output.push_bytes(&encode_q8_1(x)),
                Form::RowsQ8_K => {
                    let x = quantize_k(x);
                    output.push_floats([&x.a]);
                    push_sums(&mut output, &x.sums.iter().map(|&sum| sum as i16).collect::<Vec<_>>());
                    push_codes(&mut output, &x.codes);
                }
                Form::Q8_K => output.push_bytes(&encode_q8_k(x)),
            }
        }
        Blessing::Naive(output)
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        let ty = match self.form {
            Form::Rows | Form::RowsQ8_K => return None,
            Form::Q8_0 => GgmlType::Q8_0,
            Form::Q8_1 => GgmlType::Q8_1,
            Form::Q8_K => GgmlType::Q8_K,
        };
        self.is_defined_in_ggml.then_some(ForeignInput::Conversion(Conversion::Encode { ty, x: &self.x }))
    }
}

fn push_codes(output: &mut Output, codes: &[i8]) {
    for code in codes {
        output.push_bytes(&code.to_le_bytes());
    }
}

fn push_sums(output: &mut Output, sums: &[i16]) {
    for sum in sums {
        output.push_bytes(&sum.to_le_bytes());
    }
}
