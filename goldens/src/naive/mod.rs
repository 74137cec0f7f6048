//! The naive implementation, which blesses the goldens.
//!
//! Written from docs/NUMERICS.md alone: no decoder, quantizer or kernel of the other crates is used here, and
//! nothing is done for speed. One file a type, in the order bytes to floats, floats to bytes, dot; what types share
//! has files of its own. Every number is taken apart by hand; square root, sine, cosine, power and fused multiply-add
//! are the `libm` crate's.

mod act;
mod bf16;
mod block;
mod exp;
mod f16;
mod f32;
mod float_dot;
pub(crate) mod four_bit;
mod half;
mod iq4_nl;
mod iq4_xs;
mod mxfp4;
mod nibbles;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod q8_1;
mod q8_k;
mod rows;
mod six_bits;
mod super_block;

use std::ops::Range;

use keepq_blocks::GgmlType;

pub use act::{Quantized, quantize, quantize_k};
pub(crate) use bf16::{bits as bf16_bits, value as bf16_value};
pub(crate) use exp::exp;
pub(crate) use half::{f16_bits, read_f16};
pub use q8_1::encode as encode_q8_1;
pub use q8_k::encode as encode_q8_k;
pub(crate) use rows::{
    HeadRows, add_scaled, attention, gelu_mul, rms_norm, rope, rope_angles, route, scale, silu_mul, softmax,
};

/// The types with a decoder, an encoder and a dot.
pub const TYPES: &[&NaiveType] = &[
    &f32::TYPE,
    &f16::TYPE,
    &bf16::TYPE,
    &q4_0::TYPE,
    &q4_1::TYPE,
    &q5_0::TYPE,
    &q5_1::TYPE,
    &q8_0::TYPE,
    &q2_k::TYPE,
    &q3_k::TYPE,
    &q4_k::TYPE,
    &q5_k::TYPE,
    &q6_k::TYPE,
];

/// The types with a decoder only.
pub const DECODED_TYPES: &[&NaiveType] = &[&iq4_nl::TYPE, &iq4_xs::TYPE, &mxfp4::TYPE];

/// A storage type, done naively.
#[derive(Debug)]
pub struct NaiveType {
    /// Its name.
    pub ty: GgmlType,
    /// Elements in a block.
    pub elements: usize,
    /// Bytes in a block.
    pub bytes: usize,
    /// Where a block holds binary16 fields, `d` before `m` or `dmin`: what inputs that are made of random bytes have to
    /// keep in range.
    pub f16_fields: &'static [usize],
    /// Where a block holds its codes; in super-blocks the bytes that are neither these nor fields are scales of parts.
    pub codes: Range<usize>,
    /// A block's bytes to its elements.
    pub decode: fn(&[u8]) -> Vec<f32>,
    /// A block's elements to its bytes.
    pub encoder: Encoder,
    /// The product with a token; none for types that are decoded only.
    pub dots: Option<Dots>,
}

/// How a type is encoded.
#[derive(Clone, Copy, Debug)]
pub enum Encoder {
    /// In the steps of docs/NUMERICS.md, done here.
    Naive(fn(&[f32]) -> Vec<u8>),
    /// By a search. A second implementation of it would be a copy of the first: ggml's own bytes take its place.
    Search,
    /// Not at all.
    None,
}

/// A type's product with a token.
#[derive(Clone, Copy, Debug)]
pub struct Dots {
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
        TYPES.iter().chain(DECODED_TYPES).copied().find(|naive| naive.ty == ty)
    }

    /// Whether a block is one number.
    #[must_use]
    pub const fn is_float(&self) -> bool {
        self.elements == 1
    }

    /// What lengths of rows are counted in: a block, or 32 numbers.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.elements.max(32)
    }

    /// The elements of a row of whole blocks.
    #[must_use]
    pub fn decode_row(&self, bytes: &[u8]) -> Vec<f32> {
        bytes.chunks(self.bytes).flat_map(self.decode).collect()
    }

    /// The bytes of a row of whole blocks; none where there is no naive encoder.
    #[must_use]
    pub fn encode_row(&self, x: &[f32]) -> Option<Vec<u8>> {
        let Encoder::Naive(encode) = self.encoder else { return None };
        Some(x.chunks(self.elements).flat_map(encode).collect())
    }

    /// The product with a token.
    ///
    /// # Panics
    /// For a type of [`DECODED_TYPES`].
    #[must_use]
    pub fn dots(&self) -> &Dots {
        self.dots.as_ref().unwrap_or_else(|| panic!("{} is decoded only", self.ty))
    }

    /// [`Dots::dot`]
    ///
    /// # Panics
    /// For a type of [`DECODED_TYPES`].
    #[must_use]
    pub fn dot(&self, row: &[u8], x: &[f32]) -> f32 {
        (self.dots().dot)(row, x)
    }

    /// [`Dots::met`]
    ///
    /// # Panics
    /// For a type of [`DECODED_TYPES`].
    #[must_use]
    pub fn met(&self, x: &[f32]) -> Vec<f32> {
        (self.dots().met)(x)
    }

    /// [`Dots::steps`]
    ///
    /// # Panics
    /// For a type of [`DECODED_TYPES`].
    #[must_use]
    pub fn steps(&self, k: usize) -> usize {
        (self.dots().steps)(k)
    }
}
