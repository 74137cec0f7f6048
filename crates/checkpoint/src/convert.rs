//! From the forms of checkpoints to what kernels take, some rows at a time: the only memory of a weight's size is that of the result.

use std::borrow::Cow;
use std::ops::Range;

use half::bf16;
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::select::Fit;
use keepq_tinygemm::w4a16::{self, Layout, PackedError};
use keepq_tinygemm::{GROUPS, LayoutError, is_group, w4a8, wna16};

use crate::CheckpointError;
use crate::checkpoint::layout;
use crate::linear::{Affine, Form, Linear};
use crate::search::{ScaleZero, Scheme, Storage};

/// Weights in the layout of a path.
#[derive(Clone, Debug)]
pub struct Converted<W> {
    /// The weights.
    pub weights: W,
    /// For each channel of the weights the channel of the model that it is; `None` where these are the same. Activations are put into
    /// this order before they are multiplied.
    pub order: Option<Vec<u32>>,
    /// What became of the stored weights.
    pub fit: Fit,
}

/// What weights are quantized to for the fallback.
const FALLBACK: Scheme = Scheme::Symmetric(Storage::Bf16);

/// Where codes come from.
#[derive(Debug)]
enum Plan {
    /// They are the checkpoint's own, in this order of channels.
    Kept { order: Option<Vec<u32>> },
    /// They are found anew.
    Found(Scheme),
}

/// Some rows of codes, with what they stand for: `rows * k` codes, `rows * k / group` affines.
#[derive(Debug, Default)]
struct Block {
    codes: Vec<u8>,
    affines: Vec<Affine>,
}

/// Makes blocks of a weight's rows.
struct Rows<'l, 'a> {
    linear: &'l Linear<'a>,
    plan: Plan,
    group: usize,
    block: Block,
    floats: Vec<f32>,
}

impl<'a> Linear<'a> {
    /// For W4A16 in `layout`. Zero points become offsets, and scales are rounded to bf16. Weights that are floats, or of one scale a row, are quantized
    /// in groups of `group`.
    ///
    /// # Errors
    /// [`CheckpointError`] where the weights do not fit the layout or are not finite, or there is no memory for the result.
    pub fn to_w4a16(&self, layout: Layout, group: usize) -> Result<Converted<w4a16::Stored<'static>>, CheckpointError> {
        let (n, k) = (self.n(), self.k());
        let mut rows = Rows::new(self, Scheme::Offset, group)?;
        let group = rows.group;
        let packed = |error| CheckpointError::Packed { tensor: self.name().to_owned(), error };
        let bytes = w4a16::packed_bytes(n, k).map_err(packed)?;
        if !is_group(k, group) {
            return Err(packed(PackedError::Group { k, group }));
        }
        let (mut bytes, mut scales) = (self.zeros(bytes, 0_u8)?, self.zeros(k / group * n, [bf16::ZERO; 2])?);
        let mut fit = rows.fit();
        for first in (0..n).step_by(layout.block()) {
            let end = n.min(first + layout.block());
            let block = rows.read(first..end)?;
            w4a16::pack(layout, end - first, k, &block.codes, &mut bytes[first / 2 * k..end / 2 * k])
                .map_err(packed)?;
            for (row, affines) in (first..end).zip(block.affines.chunks_exact((k / group).max(1))) {
                for (g, affine) in affines.iter().enumerate() {
                    let exact = [affine.scale, affine.offset + (8 - affine.point) as f32 * affine.scale];
                    let stored = exact.map(bf16::from_f32);
                    if fit == Fit::Exact && stored.map(bf16::to_f32) != exact {
                        fit = Fit::Rounded;
                    }
                    scales[g * n + row] = stored;
                }
            }
        }
        let weights = w4a16::Stored::new(layout, (n, k), group, bytes, scales).map_err(packed)?;
        Ok(Converted { weights, order: rows.order(), fit })
    }

    /// For W4A8; records are used where they lie. Weights that have offsets instead of zero points, or one scale a row, or are floats, are quantized in groups of `group`, symmetric.
    ///
    /// # Errors
    /// As [`to_w4a16`](Self::to_w4a16).
    pub fn to_w4a8(&self, group: usize) -> Result<Converted<w4a8::Stored<'a>>, CheckpointError> {
        if let Form::W4A8(w) = self.form() {
            return Ok(Converted { weights: w.clone(), order: None, fit: Fit::Exact });
        }
        let (n, k) = (self.n(), self.k());
        let mut rows = Rows::new(self, Scheme::Symmetric(Storage::F32), group)?;
        let group = rows.group;
        let of_layout = layout(self.name());
        let bytes = w4a8::packed_bytes(n, k, group).map_err(&of_layout)?;
        let mut records = self.zeros(bytes, 0_u8)?;
        let (mut scales, mut zeros) = (self.zeros(k / group * n, 0.0_f32)?, self.zeros(k / group * n, 0_i8)?);
        let (in_rows, in_groups) = (bytes / (n / w4a8::ROWS).max(1), k / group * w4a8::ROWS);
        for (i, first) in (0..n).step_by(w4a8::ROWS).enumerate() {
            let block = rows.read(first..first + w4a8::ROWS)?;
            let of_groups = i * in_groups..(i + 1) * in_groups;
            let (scales, zeros) = (&mut scales[of_groups.clone()], &mut zeros[of_groups]);
            let plain: Vec<f32> = block.affines.iter().map(|affine| affine.scale).collect();
            w4a8::by_blocks(w4a8::ROWS, &plain, scales).map_err(&of_layout)?;
            let plain: Vec<i8> = block.affines.iter().map(|affine| affine.point as i8).collect();
            w4a8::by_blocks(w4a8::ROWS, &plain, zeros).map_err(&of_layout)?;
            let records = &mut records[i * in_rows..(i + 1) * in_rows];
            w4a8::pack((w4a8::ROWS, k), group, &block.codes, scales, zeros, records).map_err(&of_layout)?;
        }
        let weights = w4a8::Stored::new((n, k), group, records, scales, zeros).map_err(&of_layout)?;
        let fit = rows.fit();
        Ok(Converted { weights, order: rows.order(), fit })
    }

    /// For the fallback, with scales rounded to bf16. Weights that have no zero points of 0 to 15 are quantized in groups of `group`, symmetric.
    ///
    /// # Errors
    /// As [`to_w4a16`](Self::to_w4a16).
    pub fn to_wna16(&self, group: usize) -> Result<Converted<wna16::Stored<'static>>, CheckpointError> {
        let (n, k) = (self.n(), self.k());
        let mut rows = Rows::new(self, FALLBACK, group)?;
        let group = rows.group;
        let of_layout = layout(self.name());
        if !n.is_multiple_of(wna16::ROWS) {
            return Err(of_layout(LayoutError::RaggedRows { format: "wna16", n, multiple: wna16::ROWS }));
        }
        if !is_group(k, group) {
            return Err(of_layout(LayoutError::Group { format: "wna16", k, group }));
        }
        let (mut words, mut scales) = (self.zeros(n / 2 * k, 0_u8)?, self.zeros(k / group * n, bf16::ZERO)?);
        let mut zeros = self.zeros(k / group * (n / 8), 0_i32)?;
        let mut fit = rows.fit();
        for first in (0..n).step_by(wna16::ROWS) {
            let end = first + wna16::ROWS;
            let block = rows.read(first..end)?;
            wna16::pack(wna16::ROWS, k, &block.codes, &mut words[first / 2 * k..end / 2 * k]).map_err(&of_layout)?;
            for (row, affines) in (first..end).zip(block.affines.chunks_exact((k / group).max(1))) {
                for (g, affine) in affines.iter().enumerate() {
                    let scale = bf16::from_f32(affine.scale);
                    if fit == Fit::Exact && scale.to_f32() != affine.scale {
                        fit = Fit::Rounded;
                    }
                    scales[g * n + row] = scale;
                    zeros[g * (n / 8) + row / 8] |= (affine.point & 15) << (4 * (row % 8));
                }
            }
        }
        let zeros = Some(Cow::Owned(zeros));
        let weights = wna16::Stored::new((n, k), group, words, scales, zeros).map_err(&of_layout)?;
        Ok(Converted { weights, order: rows.order(), fit })
    }

    /// With one scale a row. All weights are quantized for it but those that are so already.
    ///
    /// # Errors
    /// As [`to_w4a16`](Self::to_w4a16).
    pub fn to_int4(&self) -> Result<Converted<QuantizedMatrixQ4>, CheckpointError> {
        if let Form::Int4(w) = self.form() {
            return Ok(Converted { weights: w.clone(), order: None, fit: Fit::Exact });
        }
        let (n, k) = (self.n(), self.k());
        let of_layout = layout(self.name());
        let row_bytes = k.div_ceil(2);
        let bytes = n.checked_mul(row_bytes).ok_or(LayoutError::TooLarge { format: "int4", n, k });
        let mut codes = self.zeros(bytes.map_err(&of_layout)?, 0_u8)?;
        let (mut scales, mut row) = (self.zeros(n, 0.0_f32)?, vec![0.0; k]);
        for (r, scale) in scales.iter_mut().enumerate() {
            self.finite_row(r, &mut row)?;
            let one = QuantizedMatrixQ4::quantize(1, k, &row).map_err(&of_layout)?;
            if let Some((of_row, of_scale)) = one.row(0) {
                codes[r * row_bytes..][..row_bytes].copy_from_slice(of_row);
                *scale = of_scale;
            }
        }
        let weights = QuantizedMatrixQ4::from_parts(n, k, codes, scales).map_err(&of_layout)?;
        Ok(Converted { weights, order: None, fit: self.quantized() })
    }

    /// What quantizing these weights is.
    const fn quantized(&self) -> Fit {
        match self.form() {
            Form::Float(_) => Fit::Quantized,
            _ => Fit::QuantizedAgain,
        }
    }

    /// A row that is finite.
    pub(crate) fn finite_row(&self, row: usize, out: &mut [f32]) -> Result<(), CheckpointError> {
        self.decode_row(row, out);
        match out.iter().position(|w| !w.is_finite()) {
            Some(column) => Err(CheckpointError::NotFinite { tensor: self.name().to_owned(), row, column }),
            None => Ok(()),
        }
    }

    /// So many equal elements, where there is memory for them.
    fn zeros<T: Copy>(&self, len: usize, zero: T) -> Result<Vec<T>, CheckpointError> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(len).map_err(|_| CheckpointError::NoMemory {
            tensor: self.name().to_owned(),
            bytes: len.saturating_mul(size_of::<T>()),
        })?;
        memory.resize(len, zero);
        Ok(memory)
    }

    /// The order of channels in which those of a group lie together; `None` where they do so already.
    fn order(&self) -> Result<Option<Vec<u32>>, CheckpointError> {
        let Form::Gptq(w) = self.form() else { return Ok(None) };
        let Some(groups) = w.groups() else { return Ok(None) };
        let mut order: Vec<u32> = (0..groups.len() as u32).collect();
        order.sort_by_key(|&channel| groups[channel as usize]);
        for group in 0..self.k() / w.group() {
            let found = groups.iter().filter(|&&of_channel| of_channel as usize == group).count();
            if found != w.group() {
                let (tensor, expected) = (self.name().to_owned(), w.group());
                return Err(CheckpointError::UnevenGroups { tensor, group, found, expected });
            }
        }
        Ok(Some(order))
    }
}

/// Whether the stored codes stand for what a scheme's codes stand for.
fn scheme_keeps(linear: &Linear<'_>, scheme: Scheme) -> bool {
    match linear.form() {
        Form::Float(_) => false,
        Form::Gptq(_) | Form::Awq(_) | Form::Int4(_) => true,
        // Offsets of 0 are zero points of 8, others are none.
        Form::CpuInt4(w) => scheme == Scheme::Offset || w.view().tensors().2.iter().all(|zero| zero.to_f32() == 0.0),
        // The fallback's zero points are nibbles.
        Form::W4A8(w) => {
            let zeros = || (0..linear.n()).flat_map(|n| (0..linear.k()).step_by(w.view().group()).map(move |k| (n, k)));
            scheme != FALLBACK || zeros().all(|(n, k)| matches!(w.view().zero(n, k), Some(0..=15)))
        }
    }
}

impl<'l, 'a> Rows<'l, 'a> {
    /// Codes are kept where there are some and `scheme` can say what they stand for, in the largest groups that there are; else they are found by
    /// `scheme`, in groups of `group`.
    fn new(linear: &'l Linear<'a>, scheme: Scheme, group: usize) -> Result<Self, CheckpointError> {
        let kept = scheme_keeps(linear, scheme);
        let stored = linear.group().filter(|_| kept);
        let group = stored.map_or(group, |stored| {
            GROUPS.into_iter().rev().find(|group| stored.is_multiple_of(*group)).unwrap_or(stored)
        });
        let plan = if kept { Plan::Kept { order: linear.order()? } } else { Plan::Found(scheme) };
        Ok(Self { linear, plan, group, block: Block::default(), floats: vec![0.0; linear.k()] })
    }

    const fn fit(&self) -> Fit {
        match self.plan {
            Plan::Kept { .. } => Fit::Exact,
            Plan::Found(_) => self.linear.quantized(),
        }
    }

    fn order(self) -> Option<Vec<u32>> {
        match self.plan {
            Plan::Kept { order } => order,
            Plan::Found(_) => None,
        }
    }

    /// The codes of some rows, and what they stand for.
    fn read(&mut self, rows: Range<usize>) -> Result<&Block, CheckpointError> {
        let Self { linear, plan, group, block, floats } = self;
        let k = linear.k();
        block.codes.resize(rows.len() * k, 0);
        block.affines.clear();
        match plan {
            Plan::Kept { order } => {
                linear.codes(rows.clone(), &mut block.codes);
                if let Some(order) = order {
                    let mut natural = vec![0; k];
                    for codes in block.codes.chunks_exact_mut(k.max(1)) {
                        natural.copy_from_slice(codes);
                        codes.iter_mut().zip(&*order).for_each(|(code, &from)| *code = natural[from as usize]);
                    }
                }
                let stored = linear.group().unwrap_or(k);
                for row in rows {
                    for first in (0..k).step_by(*group) {
                        let affine = linear.affine(row, first / stored);
                        if !(affine.scale.is_finite() && affine.offset.is_finite()) {
                            let (tensor, column) = (linear.name().to_owned(), first);
                            return Err(CheckpointError::NotFinite { tensor, row, column });
                        }
                        block.affines.push(affine);
                    }
                }
            }
            Plan::Found(scheme) => {
                for (row, codes) in rows.zip(block.codes.chunks_exact_mut(k.max(1))) {
                    linear.finite_row(row, floats)?;
                    let groups = floats.chunks(*group).zip(codes.chunks_mut(*group)).enumerate();
                    for (g, (floats, codes)) in groups {
                        let Some(found) = scheme.search(floats) else {
                            let (tensor, column) = (linear.name().to_owned(), g * *group);
                            return Err(CheckpointError::ScaleOverflow { tensor, row, column });
                        };
                        codes.iter_mut().zip(floats).for_each(|(code, w)| *code = scheme.code(found, *w));
                        block.affines.push(affine_of(*scheme, found));
                    }
                }
            }
        }
        Ok(block)
    }
}

fn affine_of(scheme: Scheme, ScaleZero { scale, zero }: ScaleZero) -> Affine {
    match scheme {
        Scheme::Offset => Affine { scale, point: 8, offset: zero },
        Scheme::Symmetric(_) | Scheme::Asymmetric(_) => Affine { scale, point: zero as i32, offset: 0.0 },
    }
}
