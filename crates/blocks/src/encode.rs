//! Quantizing whole rows.

use core::fmt;

use bytemuck::Pod;

use crate::{
    Bf16, BlockF32, BlockQ2_K, BlockQ3_K, BlockQ4_0, BlockQ4_1, BlockQ4_K, BlockQ5_0, BlockQ5_1, BlockQ5_K, BlockQ6_K,
    BlockQ8_0, F16, GgmlType,
};

/// Quantizes `x`, any number of whole rows, to `out`.
///
/// Bytes equal those of ggml's `quantize_row_*_ref`.
///
/// # Errors
/// [`EncodeError`] where `x` is no whole number of blocks, `out` has another length than the result, an element
/// is not finite (a block would be poisoned), or the type has no encoder.
pub fn encode_row(ty: GgmlType, x: &[f32], out: &mut [u8]) -> Result<(), EncodeError> {
    let expected = ty.row_bytes(x.len()).ok_or(EncodeError::RaggedRow { ty, k: x.len() })?;
    if out.len() != expected {
        return Err(EncodeError::WrongLength { ty, expected, found: out.len() });
    }
    if let Some(index) = x.iter().position(|v| !v.is_finite()) {
        return Err(EncodeError::NotFinite { index });
    }
    match ty {
        GgmlType::F32 => encode_blocks(x, out, |&[v]| BlockF32::from_f32(v)),
        GgmlType::F16 => encode_blocks(x, out, |&[v]| F16::from_f32(v)),
        GgmlType::BF16 => encode_blocks(x, out, |&[v]| Bf16::from_f32(v)),
        GgmlType::Q4_0 => encode_blocks(x, out, BlockQ4_0::encode),
        GgmlType::Q4_1 => encode_blocks(x, out, BlockQ4_1::encode),
        GgmlType::Q5_0 => encode_blocks(x, out, BlockQ5_0::encode),
        GgmlType::Q5_1 => encode_blocks(x, out, BlockQ5_1::encode),
        GgmlType::Q8_0 => encode_blocks(x, out, BlockQ8_0::encode),
        GgmlType::Q2_K => encode_blocks(x, out, BlockQ2_K::encode),
        GgmlType::Q3_K => encode_blocks(x, out, BlockQ3_K::encode),
        GgmlType::Q4_K => encode_blocks(x, out, BlockQ4_K::encode),
        GgmlType::Q5_K => encode_blocks(x, out, BlockQ5_K::encode),
        GgmlType::Q6_K => encode_blocks(x, out, BlockQ6_K::encode),
        _ => return Err(EncodeError::Unsupported { ty }),
    }
    Ok(())
}

fn encode_blocks<B: Pod, const LEN: usize>(x: &[f32], out: &mut [u8], encode: impl Fn(&[f32; LEN]) -> B) {
    let (elements, rest) = x.as_chunks::<LEN>();
    debug_assert!(rest.is_empty());
    let blocks: &mut [B] = bytemuck::cast_slice_mut(out);
    for (block, elements) in blocks.iter_mut().zip(elements) {
        *block = encode(elements);
    }
}

/// Why floats were not quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The elements are no whole number of blocks.
    RaggedRow {
        /// The type.
        ty: GgmlType,
        /// Elements given.
        k: usize,
    },
    /// The output has another length than the result.
    WrongLength {
        /// The type.
        ty: GgmlType,
        /// Bytes of the result.
        expected: usize,
        /// Bytes of the output.
        found: usize,
    },
    /// An element is infinite or NaN.
    NotFinite {
        /// Its index.
        index: usize,
    },
    /// The type has no encoder in this version.
    Unsupported {
        /// The type.
        ty: GgmlType,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RaggedRow { ty, k } => {
                write!(f, "{ty}: {k} elements are no whole number of blocks of {}", ty.block_len())
            }
            Self::WrongLength { ty, expected, found } => {
                write!(f, "{ty}: the result takes {expected} bytes, the output has {found}")
            }
            Self::NotFinite { index } => write!(f, "element {index} is not finite"),
            Self::Unsupported { ty } => write!(f, "{ty}: this version cannot encode it"),
        }
    }
}

impl core::error::Error for EncodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_quantized_says_why() {
        let mut out = [0; 34];
        assert_eq!(
            encode_row(GgmlType::Q8_0, &[0.0; 33], &mut out),
            Err(EncodeError::RaggedRow { ty: GgmlType::Q8_0, k: 33 })
        );
        assert!(matches!(
            encode_row(GgmlType::Q8_0, &[0.0; 64], &mut out),
            Err(EncodeError::WrongLength { expected: 68, found: 34, .. })
        ));
        let mut x = [0.0; 32];
        x[7] = f32::NAN;
        assert_eq!(encode_row(GgmlType::Q8_0, &x, &mut out), Err(EncodeError::NotFinite { index: 7 }));
        assert_eq!(
            encode_row(GgmlType::IQ1_S, &[0.0; 256], &mut [0; 50]),
            Err(EncodeError::Unsupported { ty: GgmlType::IQ1_S })
        );
    }

    #[test]
    fn f32_keeps_its_bits() {
        let mut out = [0; 8];
        encode_row(GgmlType::F32, &[-0.0, 1.5], &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 0x80, 0, 0, 0xc0, 0x3f]);
    }
}
