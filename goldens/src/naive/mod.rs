//! The naive implementation, which blesses the goldens.
//!
//! Written from docs/NUMERICS.md alone: no decoder, quantizer or kernel of the other crates is used here, and
//! nothing is done for speed. One file a type, in the order bytes to floats, floats to bytes, dot; what types share
//! has files of its own. Every number is taken apart by hand; square root, sine, cosine, power and fused multiply-add
//! are the `libm` crate's.

mod act;
mod bf16;
mod exp;
mod f16;
mod f32;
mod float_dot;
mod half;
mod q4_1;
mod q8_0;
mod q8_1;
mod rows;

use keepq_blocks::GgmlType;

pub use act::{Quantized, quantize};
pub(crate) use exp::exp;
pub(crate) use half::{f16_bits, read_f16};
pub use q8_1::encode as encode_q8_1;
pub(crate) use rows::{HeadRows, attention, rms_norm, rope, rope_angles, silu_mul, softmax};

/// All types with a decoder, an encoder and a dot.
pub const TYPES: &[&NaiveType] = &[&f32::TYPE, &f16::TYPE, &bf16::TYPE, &q4_1::TYPE, &q8_0::TYPE];

/// A storage type, done naively.
#[derive(Debug)]
pub struct NaiveType {
    /// Its name.
    pub ty: GgmlType,
    /// Elements in a block.
    pub elements: usize,
    /// Bytes in a block.
    pub bytes: usize,
    /// Where a block holds binary16 fields: what inputs that are made of random bytes have to keep in range.
    pub f16_fields: &'static [usize],
    /// A block's bytes to its elements.
    pub decode: fn(&[u8]) -> Vec<f32>,
    /// A block's elements to its bytes.
    pub encode: fn(&[f32]) -> Vec<u8>,
    /// A whole row of bytes by one token.
    pub dot: fn(&[u8], &[f32]) -> f32,
    /// What a token is when it meets the weights: itself, or its quantized values.
    pub met: fn(&[f32]) -> Vec<f32>,
    /// The f32 additions of one accumulator, for a row of so many elements.
    pub steps: fn(usize) -> usize,
    /// For each element of a block the sum of the magnitudes of the parts that are added up separately: `|w|`, or
    /// `|d q| + |m|`.
    pub parts: fn(&[u8]) -> Vec<f64>,
}

impl NaiveType {
    /// The type with this name, if it has a naive implementation.
    #[must_use]
    pub fn of(ty: GgmlType) -> Option<&'static Self> {
        TYPES.iter().copied().find(|naive| naive.ty == ty)
    }

    /// Whether a block is one number.
    #[must_use]
    pub const fn is_float(&self) -> bool {
        self.elements == 1
    }

    /// The elements of a row of whole blocks.
    #[must_use]
    pub fn decode_row(&self, bytes: &[u8]) -> Vec<f32> {
        bytes.chunks(self.bytes).flat_map(self.decode).collect()
    }

    /// The bytes of a row of whole blocks.
    #[must_use]
    pub fn encode_row(&self, x: &[f32]) -> Vec<u8> {
        x.chunks(self.elements).flat_map(self.encode).collect()
    }
}
