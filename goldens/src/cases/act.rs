//! `act/<form>/<floats>`: activations quantized, as [`ActRows`](keepq_act::ActRows) and in ggml's two byte forms.

use keepq_act::{ActBuf, ActFormat, Acts, Q8_0Rows, quantize_row_q8_1};
use keepq_blocks::{BlockQ8_1, F16, GgmlType};

use crate::case::{Golden, Runner};
use crate::foreign::{Conversion, ForeignInput};
use crate::inputs::{Floats, fresh_rows, real_tokens};
use crate::naive::{Quantized, encode_q8_1, f16_bits, quantize};
use crate::{Case, Output};

struct Act {
    form: Form,
    x: Vec<f32>,
    is_defined_in_ggml: bool,
}

#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "the field's names")]
enum Form {
    /// Codes, scales and integer sums, which kernels read.
    Rows,
    /// ggml's `block_q8_0`.
    Q8_0,
    /// ggml's `block_q8_1`.
    Q8_1,
}

const FORMS: [(Form, &str); 3] = [(Form::Rows, "rows"), (Form::Q8_0, "Q8_0"), (Form::Q8_1, "Q8_1")];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (form, name) in FORMS {
        let mut push = |floats: &str, x, is_defined_in_ggml| {
            cases.push(Case::new(format!("act/{name}/{floats}"), Act { form, x, is_defined_in_ggml }));
        };
        for (seed, floats) in Floats::FINITE.into_iter().chain([Floats::NonFinite]).enumerate() {
            push(floats.name(), floats.row(32 * 48, 200 + seed as u64), floats.is_defined_in_ggml());
        }
        push("smollm2", real_tokens().concat(), true);
    }
    cases
}

/// Rows of all kinds that C defines.
pub(super) fn fresh(seed: u64, rows: usize) -> Vec<Case> {
    let case = |(form, name)| {
        let x = fresh_rows(seed, rows);
        Case::new(format!("act/{name}/fresh"), Act { form, x, is_defined_in_ggml: true })
    };
    FORMS.into_iter().map(case).collect()
}

impl Golden for Act {
    fn run(&self, _: &Runner) -> Output {
        let mut output = Output::default();
        if let Form::Q8_1 = self.form {
            let zero = BlockQ8_1::encode(&[0.0; 32]);
            let mut blocks = vec![zero; self.x.len() / 32];
            quantize_row_q8_1(&self.x, &mut blocks);
            for block in &blocks {
                output.push_f16(block.d.to_bits());
                output.push_f16(block.s.to_bits());
                push_codes(&mut output, &block.qs);
            }
            return output;
        }
        let mut buffer = ActBuf::new();
        let rows = buffer.quantize(ActFormat::Q8_0, 1, self.x.len(), &self.x).expect("whole blocks");
        let Acts::Q8_0(Q8_0Rows { codes, scales, sums }) = rows.typed() else {
            unreachable!("the format asked for is Q8_0")
        };
        for ((codes, scale), sum) in codes.iter().zip(scales).zip(sums) {
            if let Form::Rows = self.form {
                output.push_floats([scale]);
                output.push_bytes(&sum.to_le_bytes());
            } else {
                output.push_f16(F16::from_f32(*scale).to_bits());
            }
            push_codes(&mut output, codes);
        }
        output
    }

    fn bless(&self) -> Output {
        let mut output = Output::default();
        for x in self.x.chunks(32) {
            let Quantized { a, codes, sum } = quantize(x);
            match self.form {
                Form::Rows => {
                    output.push_floats([&a]);
                    output.push_bytes(&sum.to_le_bytes());
                    push_codes(&mut output, &codes);
                }
                Form::Q8_0 => {
                    output.push_f16(f16_bits(a));
                    push_codes(&mut output, &codes);
                }
                Form::Q8_1 => output.push_bytes(&encode_q8_1(x)),
            }
        }
        output
    }

    fn foreign(&self) -> Option<ForeignInput<'_>> {
        let ty = match self.form {
            Form::Rows => return None,
            Form::Q8_0 => GgmlType::Q8_0,
            Form::Q8_1 => GgmlType::Q8_1,
        };
        self.is_defined_in_ggml.then_some(ForeignInput::Conversion(Conversion::Encode { ty, x: &self.x }))
    }
}

fn push_codes(output: &mut Output, codes: &[i8]) {
    for code in codes {
        output.push_bytes(&code.to_le_bytes());
    }
}
