//! [`Linear`]: the weights of a layer, in any form.

use std::ops::Range;

use keepq_blocks::Matrix;
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::w4a8;
use keepq_tinygemm::w4a16::StoredRowMajor;

use crate::{awq, gptq};

/// The weights `w[n,k]` of a layer as a checkpoint has them.
#[derive(Clone, Debug)]
pub struct Linear<'a> {
    name: String,
    form: Form<'a>,
}

/// The forms that weights have in checkpoints.
#[derive(Clone, Debug)]
pub enum Form<'a> {
    /// Floats of 16 or 32 bits.
    Float(Matrix<'a>),
    /// GPTQ's words.
    Gptq(gptq::Weights<'a>),
    /// AWQ's words.
    Awq(awq::Weights<'a>),
    /// Row-major codes with bf16 scales and offsets.
    CpuInt4(StoredRowMajor<'a>),
    /// Records for int8 activations.
    W4A8(w4a8::Stored<'a>),
    /// One scale a row.
    Int4(QuantizedMatrixQ4),
}

/// What a code stands for: `w = (code - point) * scale + offset`. Either the point is 8 or the offset is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Affine {
    pub scale: f32,
    pub point: i32,
    pub offset: f32,
}

impl Affine {
    /// With a zero point.
    const fn point(scale: f32, point: i32) -> Self {
        Self { scale, point, offset: 0.0 }
    }

    /// The weight that a code stands for.
    pub(crate) fn weight(self, code: u8) -> f32 {
        (i32::from(code) - self.point) as f32 * self.scale + self.offset
    }
}

impl<'a> Linear<'a> {
    pub(crate) fn new(name: &str, form: Form<'a>) -> Self {
        Self { name: name.to_owned(), form }
    }

    /// The name, without that of a tensor.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form.
    #[must_use]
    pub const fn form(&self) -> &Form<'a> {
        &self.form
    }

    /// The form, to be held.
    #[must_use]
    pub fn into_form(self) -> Form<'a> {
        self.form
    }

    /// Rows: output features.
    #[must_use]
    pub fn n(&self) -> usize {
        match &self.form {
            Form::Float(w) => w.n(),
            Form::Gptq(w) => w.n(),
            Form::Awq(w) => w.n(),
            Form::CpuInt4(w) => w.view().n(),
            Form::W4A8(w) => w.view().n(),
            Form::Int4(w) => w.n(),
        }
    }

    /// Elements of a row: the reduction axis.
    #[must_use]
    pub fn k(&self) -> usize {
        match &self.form {
            Form::Float(w) => w.k(),
            Form::Gptq(w) => w.k(),
            Form::Awq(w) => w.k(),
            Form::CpuInt4(w) => w.view().k(),
            Form::W4A8(w) => w.view().k(),
            Form::Int4(w) => w.k(),
        }
    }

    /// Codes of a row that share a scale; `None` where weights are floats.
    #[must_use]
    pub fn group(&self) -> Option<usize> {
        match &self.form {
            Form::Float(_) => None,
            Form::Gptq(w) => Some(w.group()),
            Form::Awq(w) => Some(w.group()),
            Form::CpuInt4(w) => Some(w.view().group()),
            Form::W4A8(w) => Some(w.view().group()),
            Form::Int4(w) => Some(w.k()),
        }
    }

    /// Bytes that the weights take in this form.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Float(w) => w.bytes().len(),
            Form::Gptq(w) => w.bytes(),
            Form::Awq(w) => w.bytes(),
            Form::CpuInt4(w) => w.view().bytes(),
            Form::W4A8(w) => w.view().bytes(),
            Form::Int4(w) => w.bytes(),
        }
    }

    /// What a log should say about these weights; `None` where nothing is odd.
    ///
    /// A symmetric GPTQ file has the zero point 8 everywhere. Where the stored numbers, read as the label says, are all another one, the file was
    /// probably labelled wrongly: [`Checkpoint::with_zero_points`](crate::Checkpoint::with_zero_points) overrides it.
    #[must_use]
    pub fn doubt(&self, symmetric: bool) -> Option<String> {
        let Form::Gptq(w) = &self.form else { return None };
        let stored = w.only_stored_zero()?;
        let zero = w.zero(0, 0);
        (symmetric && zero != 8 && matches!(stored, 7 | 8)).then(|| {
            format!(
                "{}: all zero points are stored as {stored}, which the label makes {zero}; symmetric weights have 8: is the label wrong?",
                self.name
            )
        })
    }

    /// The weights of row `row` as floats, channels in the order of the model.
    ///
    /// # Panics
    /// Where there is no such row, or `out` is not `k` long.
    pub fn decode_row(&self, row: usize, out: &mut [f32]) {
        let k = self.k();
        assert!(row < self.n() && out.len() == k, "row {row} of {}, {} elements of {k}", self.n(), out.len());
        if let Form::Float(w) = &self.form {
            w.decode_row(row, out).expect("a row of the matrix, a buffer of its length");
            return;
        }
        let mut codes = vec![0; k];
        self.codes(row..row + 1, &mut codes);
        match &self.form {
            Form::Gptq(w) if w.groups().is_some() => {
                for (channel, (out, code)) in out.iter_mut().zip(codes).enumerate() {
                    *out = self.affine(row, w.group_of(channel)).weight(code);
                }
            }
            _ => {
                let group = self.group().unwrap_or(k).max(1);
                for (g, (out, codes)) in out.chunks_mut(group).zip(codes.chunks(group)).enumerate() {
                    let affine = self.affine(row, g);
                    out.iter_mut().zip(codes).for_each(|(out, code)| *out = affine.weight(*code));
                }
            }
        }
    }

    /// The codes of some rows, channels in the order of the model. Floats have none.
    pub(crate) fn codes(&self, rows: Range<usize>, out: &mut [u8]) {
        let k = self.k().max(1);
        match &self.form {
            Form::Float(_) => unreachable!("floats have no codes"),
            Form::Gptq(w) => w.codes(rows, out),
            Form::Awq(w) => w.codes(rows, out),
            Form::CpuInt4(w) => {
                for (row, out) in rows.zip(out.chunks_exact_mut(k)) {
                    let codes = w.view().row(row).into_iter().flatten();
                    out.iter_mut().zip(codes).for_each(|(out, code)| *out = code);
                }
            }
            Form::W4A8(w) => {
                let w = w.view();
                for (row, out) in rows.zip(out.chunks_exact_mut(k)) {
                    out.iter_mut().enumerate().for_each(|(i, out)| *out = w.code(row, i).unwrap_or(0));
                }
            }
            Form::Int4(w) => {
                for (row, out) in rows.zip(out.chunks_exact_mut(k)) {
                    let bytes = w.row(row).map_or(&[][..], |(bytes, _)| bytes);
                    let codes = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]);
                    out.iter_mut().zip(codes).for_each(|(out, code)| *out = code);
                }
            }
        }
    }

    /// What the codes of row `row` in a group stand for. Floats have none.
    pub(crate) fn affine(&self, row: usize, group: usize) -> Affine {
        match &self.form {
            Form::Float(_) => unreachable!("floats have no scales"),
            Form::Gptq(w) => Affine::point(w.scale(row, group), i32::from(w.zero(row, group))),
            Form::Awq(w) => Affine::point(w.scale(row, group), i32::from(w.zero(row, group))),
            Form::CpuInt4(w) => {
                let (_, scales, zeros) = w.view().parts(row).expect("a row of the weights");
                Affine { scale: scales[group].to_f32(), point: 8, offset: zeros[group].to_f32() }
            }
            Form::W4A8(w) => {
                let (w, column) = (w.view(), group * w.view().group());
                let (scale, zero) = (w.scale(row, column), w.zero(row, column));
                Affine::point(scale.unwrap_or(0.0), i32::from(zero.unwrap_or(0)))
            }
            Form::Int4(w) => Affine::point(w.row(row).map_or(0.0, |(_, scale)| scale), 8),
        }
    }
}
