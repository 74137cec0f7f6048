//! [`Recipe`]: makes the tensors of a quantized weight.

use half::{bf16, f16};
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::w4a16::pack_row_major;
use keepq_tinygemm::{LayoutError, is_group, w4a8};
use safetensors::Dtype;
use serde_json::{Map, Value, json};

use crate::search::{ScaleZero, Scheme, Storage};
use crate::{Method, ZeroPoints, awq, gptq};

/// How weights are quantized, and the form that they get.
///
/// A weight is made in two steps, so that nothing but its scales has to be kept while a file is written: [`scales`](Self::scales) of its rows, then
/// [`codes`](Self::codes) by them, and [`bytes`](Self::bytes) of each of its [`parts`](Self::parts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    method: Method,
    group: usize,
    scheme: Scheme,
}

/// A tensor of a quantized weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What the name of the weight is followed by, `qweight`.
    pub name: &'static str,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// The scales and zeros of a weight, `[n, groups]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scales {
    /// Scales, as they are stored.
    pub scales: Vec<f32>,
    /// Offsets or zero points.
    pub zeros: Vec<f32>,
}

/// Why a row was not quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFault {
    /// The weight in this column is infinite or NaN.
    NotFinite {
        /// The column.
        column: usize,
    },
    /// No scale that can be stored is large enough for the group that begins in this column.
    ScaleOverflow {
        /// The column.
        column: usize,
    },
}

impl RowFault {
    /// The same fault in a row that begins so many columns later.
    const fn moved(self, by: usize) -> Self {
        match self {
            Self::NotFinite { column } => Self::NotFinite { column: column + by },
            Self::ScaleOverflow { column } => Self::ScaleOverflow { column: column + by },
        }
    }
}

impl Recipe {
    /// Weights in the form of `method`, in groups of `group` codes. `asymmetric` weights have zero points of their own; `cpu_int4` always has
    /// offsets, `int4` has neither groups nor zero points. `None` where `method` quantizes nothing.
    #[must_use]
    pub fn new(method: Method, group: usize, asymmetric: bool) -> Option<Self> {
        let by = |storage| if asymmetric { Scheme::Asymmetric(storage) } else { Scheme::Symmetric(storage) };
        let scheme = match method {
            Method::None => return None,
            Method::Gptq(_) | Method::Awq => by(Storage::F16),
            Method::CpuInt4 => Scheme::Offset,
            Method::W4A8 => by(Storage::F32),
            Method::Int4 => Scheme::Symmetric(Storage::F32),
        };
        Some(Self { method, group, scheme })
    }

    /// The form.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Codes that share a scale, where the form has groups.
    #[must_use]
    pub const fn group(&self) -> usize {
        self.group
    }

    /// What `config.json` says of it: `quantization_config`.
    #[must_use]
    pub fn config(&self) -> Map<String, Value> {
        let symmetric = matches!(self.scheme, Scheme::Symmetric(_));
        let value = match self.method {
            Method::Gptq(zero_points) => json!({
                "quant_method": "gptq", "bits": 4, "group_size": self.group, "desc_act": false, "sym": symmetric,
                "checkpoint_format": match zero_points {
                    ZeroPoints::LessOne => "gptq",
                    ZeroPoints::AsTheyAre => "gptq_v2",
                },
            }),
            Method::Awq => json!({
                "quant_method": "awq", "bits": 4, "group_size": self.group, "zero_point": !symmetric, "version": "gemm",
                "modules_to_not_convert": null,
            }),
            Method::CpuInt4 | Method::W4A8 | Method::Int4 | Method::None => {
                json!({ "quant_method": self.method.name(), "bits": 4, "group_size": self.group })
            }
        };
        match value {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    /// Groups of a row of `k` codes.
    #[must_use]
    pub const fn groups(&self, k: usize) -> usize {
        match self.method {
            Method::Int4 => 1,
            _ => k / self.group,
        }
    }

    /// The tensors of a weight `w[n,k]`.
    ///
    /// # Errors
    /// [`LayoutError`] where the form has no such shape.
    pub fn parts(&self, (n, k): (usize, usize)) -> Result<Vec<Part>, LayoutError> {
        let part = |name, dtype, shape: &[usize]| Part { name, dtype, shape: shape.to_vec() };
        let format = self.method.name();
        let rows = match self.method {
            Method::Gptq(_) | Method::Awq => 8,
            Method::W4A8 => w4a8::ROWS,
            _ => 1,
        };
        if !n.is_multiple_of(rows) {
            return Err(LayoutError::RaggedRows { format, n, multiple: rows });
        }
        if self.method != Method::Int4 && !is_group(k, self.group) {
            return Err(LayoutError::Group { format, k, group: self.group });
        }
        let groups = self.groups(k);
        Ok(match self.method {
            Method::None => Vec::new(),
            Method::Gptq(_) => vec![
                part("qweight", Dtype::I32, &[k / 8, n]),
                part("qzeros", Dtype::I32, &[groups, n / 8]),
                part("scales", Dtype::F16, &[groups, n]),
                part("g_idx", Dtype::I32, &[k]),
            ],
            Method::Awq => vec![
                part("qweight", Dtype::I32, &[k, n / 8]),
                part("qzeros", Dtype::I32, &[groups, n / 8]),
                part("scales", Dtype::F16, &[groups, n]),
            ],
            Method::CpuInt4 => vec![
                part("weight_packed", Dtype::U8, &[n, k / 2]),
                part("weight_scale", Dtype::BF16, &[n, groups]),
                part("weight_zero", Dtype::BF16, &[n, groups]),
            ],
            Method::W4A8 => {
                let blocks = n / w4a8::ROWS;
                let of_groups = [blocks, groups, w4a8::ROWS];
                let bytes = w4a8::packed_bytes(n, k, self.group)?;
                vec![
                    part("weight_packed", Dtype::U8, &[blocks, bytes / blocks.max(1)]),
                    part("weight_scale", Dtype::F32, &of_groups),
                    part("weight_zero", Dtype::I8, &of_groups),
                ]
            }
            Method::Int4 => {
                vec![part("weight_packed", Dtype::U8, &[n, k.div_ceil(2)]), part("weight_scale", Dtype::F32, &[n])]
            }
        })
    }

    /// Finds the scales and zeros of a row, one of each for every group.
    ///
    /// # Errors
    /// [`RowFault`] where a weight is not finite, or no scale can be stored for it.
    pub fn scales(&self, row: &[f32], scales: &mut [f32], zeros: &mut [f32]) -> Result<(), RowFault> {
        if let Some(column) = row.iter().position(|w| !w.is_finite()) {
            return Err(RowFault::NotFinite { column });
        }
        if self.method == Method::Int4 {
            let one = QuantizedMatrixQ4::quantize(1, row.len(), row);
            scales.fill(one.ok().and_then(|one| Some(one.row(0)?.1)).unwrap_or(0.0));
            zeros.fill(8.0);
            return Ok(());
        }
        for (g, group) in row.chunks(self.group).enumerate() {
            let column = g * self.group;
            let found = self.scheme.search(group).ok_or(RowFault::ScaleOverflow { column })?;
            (scales[g], zeros[g]) = (found.scale, found.zero);
        }
        Ok(())
    }

    /// The codes of a row, one to a byte, by its scales and zeros.
    pub fn codes(&self, row: &[f32], scales: &[f32], zeros: &[f32], codes: &mut [u8]) {
        if self.method == Method::Int4 {
            let level = |w: f32| if scales[0] == 0.0 { 0.0 } else { (w / scales[0]).round_ties_even() };
            codes.iter_mut().zip(row).for_each(|(code, w)| *code = (level(*w).clamp(-7.0, 7.0) + 8.0) as u8);
            return;
        }
        let groups = row.chunks(self.group).zip(codes.chunks_mut(self.group)).zip(scales.iter().zip(zeros));
        for ((row, codes), (&scale, &zero)) in groups {
            codes.iter_mut().zip(row).for_each(|(code, w)| *code = self.scheme.code(ScaleZero { scale, zero }, *w));
        }
    }

    /// Both at once, column by column, with the error of each column made good in those that follow it: what the original GPTQ does. `factor` is the
    /// upper Cholesky factor, `[k, k]`, of the inverse of `Σ x xᵀ` over activations that the weights are to be multiplied by, with something added to
    /// its diagonal. The scales of a group are found, or with `found` taken as they are, when its first column is reached.
    ///
    /// The algorithm is that of Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers" (2022).
    ///
    /// # Errors
    /// As [`scales`](Self::scales), of the row as it is then.
    ///
    /// # Panics
    /// Where `factor` is not `k * k` numbers, or scales, zeros and codes are not as many as a row has.
    pub fn compensated(
        &self,
        row: &[f32],
        factor: &[f32],
        found: bool,
        scales: &mut [f32],
        zeros: &mut [f32],
        codes: &mut [u8],
    ) -> Result<(), RowFault> {
        let k = row.len();
        assert!(
            factor.len() == k * k && codes.len() == k,
            "{} numbers of a factor, {} codes for {k}",
            factor.len(),
            codes.len()
        );
        let group = if self.method == Method::Int4 { k.max(1) } else { self.group };
        let mut row = row.to_vec();
        for column in 0..k {
            let g = column / group;
            if column % group == 0 && !found {
                let end = k.min(column + group);
                let at = g..g + 1;
                self.scales(&row[column..end], &mut scales[at.clone()], &mut zeros[at])
                    .map_err(|fault| fault.moved(column))?;
            }
            let (scale, zero) = (&scales[g..=g], &zeros[g..=g]);
            self.codes(&row[column..=column], scale, zero, &mut codes[column..=column]);
            let factor = &factor[column * k + column..(column + 1) * k];
            let error = (row[column] - self.weight(codes[column], scale[0], zero[0])) / factor[0];
            row[column + 1..].iter_mut().zip(&factor[1..]).for_each(|(w, by)| *w -= error * by);
        }
        Ok(())
    }

    /// What a code stands for.
    fn weight(&self, code: u8, scale: f32, zero: f32) -> f32 {
        self.scheme.weight(ScaleZero { scale, zero }, code)
    }

    /// The bytes of the part with this name. `codes` writes all codes of the weight, row by row, and is called where they are needed.
    ///
    /// # Errors
    /// [`LayoutError`] where the form has no such shape.
    pub fn bytes(
        &self,
        part: &str,
        (n, k): (usize, usize),
        Scales { scales, zeros }: &Scales,
        codes: impl FnOnce(&mut [u8]),
    ) -> Result<Vec<u8>, LayoutError> {
        let groups = self.groups(k);
        let all_codes = || {
            let mut all = vec![0; n * k];
            codes(&mut all);
            all
        };
        // Scales and zero points lie group by group where codes do.
        let by_groups = |of: &[f32]| (0..groups * n).map(|i| of[i % n * groups + i / n]).collect::<Vec<_>>();
        let bf16s = |of: &[f32]| of.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect();
        let points = || zeros.iter().map(|&zero| zero as u8).collect::<Vec<_>>();
        Ok(match (self.method, part) {
            (Method::Gptq(_), "qweight") => gptq::pack_codes(n, k, &all_codes()),
            (Method::Gptq(zero_points), "qzeros") => gptq::pack_zeros(n, &points(), zero_points),
            (Method::Gptq(_), "g_idx") => (0..k).flat_map(|i| ((i / self.group) as i32).to_le_bytes()).collect(),
            (Method::Awq, "qweight") => awq::pack_codes(n, k, &all_codes()),
            (Method::Awq, "qzeros") => awq::pack_codes(n, groups, &points()),
            (Method::Gptq(_) | Method::Awq, _) => {
                by_groups(scales).into_iter().flat_map(|x| f16::from_f32(x).to_le_bytes()).collect()
            }
            (Method::CpuInt4, "weight_packed") => {
                let mut bytes = vec![0; n * k / 2];
                pack_row_major(n, k, &all_codes(), &mut bytes)?;
                bytes
            }
            (Method::CpuInt4, "weight_scale") => bf16s(scales),
            (Method::CpuInt4, _) => bf16s(zeros),
            (Method::W4A8, part) => {
                let (mut of_scales, mut of_zeros) = (vec![0.0; scales.len()], vec![0; zeros.len()]);
                let plain: Vec<i8> = zeros.iter().map(|&zero| zero as i8).collect();
                w4a8::by_blocks(n, scales, &mut of_scales)?;
                w4a8::by_blocks(n, &plain, &mut of_zeros)?;
                match part {
                    "weight_packed" => {
                        let mut records = vec![0; w4a8::packed_bytes(n, k, self.group)?];
                        w4a8::pack((n, k), self.group, &all_codes(), &of_scales, &of_zeros, &mut records)?;
                        records
                    }
                    "weight_scale" => of_scales.into_iter().flat_map(f32::to_le_bytes).collect(),
                    _ => of_zeros.into_iter().map(i8::cast_unsigned).collect(),
                }
            }
            (Method::Int4, "weight_packed") => {
                let all = all_codes();
                let rows = all.chunks_exact(k.max(1));
                // The nibble after the last code of a row is the code of zero.
                rows.flat_map(|row| row.chunks(2).map(|two| two[0] | two.get(1).unwrap_or(&8) << 4)).collect()
            }
            (Method::Int4, _) => scales.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (Method::None, _) => Vec::new(),
        })
    }
}
