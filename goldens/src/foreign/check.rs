//! Whether the naive implementation and ggml agree.

use keepq_blocks::GgmlType;

use super::{Foreign, ForeignInput, VARIANTS};
use crate::naive::{NaiveType, encode_q8_1, quantize, read_f16};
use crate::{Blessing, Case, Output, Reference};

impl Foreign {
    /// The MD5 of a case with this blessing: the naive result's, or the one that ggml answered; none where that is missing.
    #[must_use]
    pub fn golden(&self, case: &Case, blessing: &Blessing) -> Option<String> {
        match blessing {
            Blessing::Naive(output) => Some(output.md5()),
            Blessing::Ggml => self.sums.get(case.name()).map(str::to_owned),
        }
    }

    /// Every way in which these answers and the naive results of `cases` disagree: bytes that differ at all, dots
    /// beyond their bound, answers without a case, cases without an answer.
    #[must_use]
    pub fn disagreements(&self, cases: &[Case], blessed: &[Blessing]) -> Vec<String> {
        let mut found = Vec::new();
        for (case, blessing) in cases.iter().zip(blessed) {
            match (case.foreign(), blessing) {
                (None, Blessing::Naive(_)) => {}
                (Some(ForeignInput::Dot { ty, rows, tokens }), Blessing::Naive(output)) => {
                    found.extend(self.dot_disagreements(case.name(), output, ty, rows, tokens));
                }
                (Some(ForeignInput::Conversion(_)), _) => match (self.sums.get(case.name()), blessing) {
                    (None, _) => found.push(format!("{}: ggml's answer is missing", case.name())),
                    (Some(md5), Blessing::Naive(output)) if md5 != output.md5() => {
                        found.push(format!("{}: ggml has {md5}, docs/NUMERICS.md {}", case.name(), output.md5()));
                    }
                    (Some(_), _) => {}
                },
                (_, Blessing::Ggml) => found.push(format!("{}: ggml gives no bytes to bless", case.name())),
            }
        }
        let asked = |name: &str| cases.iter().any(|case| case.name() == name && case.foreign().is_some());
        let answered = self.sums.names().chain(self.dots.iter().map(|dots| dots.case.as_str()));
        found.extend(answered.filter(|name| !asked(name)).map(|name| format!("{name}: an answer without a case")));
        found
    }

    fn dot_disagreements(
        &self,
        case: &str,
        blessed: &Output,
        ty: &NaiveType,
        rows: &[Vec<u8>],
        tokens: &[Vec<f32>],
    ) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |who: &str, values: &[f32], met: fn(&NaiveType, &[f32]) -> Vec<f32>, slack: Slack| {
            if values.len() != rows.len() * tokens.len() {
                found.push(format!("{case}: {who} has {} dots", values.len()));
                return;
            }
            let pairs = tokens.iter().flat_map(|token| rows.iter().map(move |row| (token, row)));
            for ((token, row), &value) in pairs.zip(values) {
                let reference = Reference::new(ty, row, &met(ty, token));
                let bound = Reference::bound(ty.steps(token.len()), reference.parts) + slack(ty, row, token);
                let error = (f64::from(value) - reference.value).abs();
                if error.is_nan() || error > bound {
                    found.push(format!("{case}: {who} has {value:e}, which is {error:e} off, more than {bound:e}"));
                }
            }
        };
        compare("docs/NUMERICS.md", &blessed.floats(), NaiveType::met, |_, _, _| 0.0);
        for variant in VARIANTS {
            let dots = self.dots.iter().find(|dots| dots.case == case && dots.variant == variant);
            let values = dots.map_or(&[][..], |dots| &dots.values);
            compare(&format!("ggml ({variant})"), values, ggml_met, ggml_slack);
        }
        found
    }
}

type Slack = fn(&NaiveType, &[u8], &[f32]) -> f64;

/// Activations as they meet ggml's weights: it rounds them to the width of float weights.
fn ggml_met(ty: &NaiveType, x: &[f32]) -> Vec<f32> {
    match ty.ty {
        GgmlType::F16 | GgmlType::BF16 => ty.decode_row(&ty.encode_row(x).expect("numbers have a naive encoder")),
        _ => ty.met(x),
    }
}

/// What ggml's dots are off beyond the rounding of f32: where the integer sum of a block belongs, it multiplies the
/// minimums of Q4_1 and Q5_1 by Q8_1's sum, a binary16 number.
fn ggml_slack(ty: &NaiveType, row: &[u8], x: &[f32]) -> f64 {
    if !matches!(ty.ty, GgmlType::Q4_1 | GgmlType::Q5_1) {
        return 0.0;
    }
    let block = |(block, x): (&[u8], &[f32])| {
        let m = f64::from(read_f16(&block[2..]));
        let s = f64::from(read_f16(&encode_q8_1(x)[2..]));
        let x = quantize(x);
        (m * (s - f64::from(x.a) * f64::from(x.sum()))).abs()
    };
    row.chunks(ty.bytes).zip(x.chunks(32)).map(block).sum()
}
