//! [`Weights`]: rows of bytes of any type, with a name.

use keepq_blocks::encode_row;

use super::{Floats, Random};
use crate::naive::{NaiveType, f16_bits};

/// A kind of weight row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Floats, encoded by the naive implementation; where an encoder is a search, by `keepq-blocks`, whose bytes ggml
    /// blesses.
    Encoded(Floats),
    /// Any bytes as codes (what no encoder writes included), scales of ordinary size and both signs. For types that are
    /// one number: many magnitudes.
    Codes,
    /// The largest, smallest, negative and zero scales by codes that are all equal; for numbers the edges.
    Edges,
    /// Scales, or numbers, that are infinite or NaN, every other block.
    NonFinite,
    /// Codes that are all equal and at an end, by scales of parts at an end, or all different. For numbers as `Codes`.
    Extremes,
    /// As [`Extremes`](Self::Extremes), with the lowest bits of codes and scales at random: sums that are large *and* odd.
    Large,
}

/// binary16 scales at the ends: the largest, the smallest denormal, the smallest normal, zero, one.
const SCALES: [u16; 8] = [0x7bff, 0x3c00, 0x0001, 0xfbff, 0x0000, 0x8001, 0x0400, 0x8000];

/// Bytes that make all codes equal: -128, -127 (or nibbles 8 and 1), -1 (15), 127 (15 and 7), 0.
const FILLS: [u8; 5] = [0x80, 0x81, 0xff, 0x7f, 0x00];

/// What all scales of parts are in turn: the largest, the smallest, those of a byte at its ends.
const SCALE_FILLS: [u8; 4] = [0xff, 0x00, 0x80, 0x7f];

/// Numbers at the ends, without those whose products overflow.
const NUMBERS: [f32; 8] = [65_504.0, -0.0, 1.0, -1.0e-40, 1.0e-45, 0.0, -65_504.0, f32::MIN_POSITIVE];

const NOT_NUMBERS: [f32; 3] = [f32::INFINITY, f32::NAN, f32::NEG_INFINITY];

impl Weights {
    /// The name in a case's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encoded(floats) => floats.name(),
            Self::Codes => "codes",
            Self::Edges => "edges",
            Self::NonFinite => "non-finite",
            Self::Extremes => "extremes",
            Self::Large => "large",
        }
    }

    /// Blocks after which [`Edges`](Self::Edges) repeat.
    pub const EDGE_BLOCKS: usize = SCALES.len() * FILLS.len();

    /// Blocks after which [`Extremes`](Self::Extremes) repeat.
    pub const EXTREME_BLOCKS: usize = FILLS.len() * (SCALE_FILLS.len() + 1);

    /// The bytes of a row of `k` elements, which are whole blocks.
    #[must_use]
    pub fn row(self, ty: &NaiveType, k: usize, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        match self {
            Self::Encoded(floats) => encoded(ty, &floats.row(k, seed)),
            _ => (0..k / ty.elements).flat_map(|b| self.block(b, ty, &mut random)).collect(),
        }
    }

    fn block(self, b: usize, ty: &NaiveType, random: &mut Random) -> Vec<u8> {
        let every_other = b % 2 == 1;
        if ty.is_float() {
            return encoded(
                ty,
                &[match self {
                    Self::Edges => NUMBERS[b % NUMBERS.len()],
                    Self::NonFinite if every_other => NOT_NUMBERS[b / 2 % NOT_NUMBERS.len()],
                    Self::Codes | Self::Extremes | Self::Large => {
                        random.gaussian() * 2.0_f32.powi(random.below(24) as i32 - 12)
                    }
                    _ => random.gaussian(),
                }],
            );
        }
        let mut block: Vec<u8> = (0..ty.bytes).map(|_| random.bits() as u8).collect();
        if self == Self::Edges {
            block.fill(FILLS[b / SCALES.len() % FILLS.len()]);
        }
        if matches!(self, Self::Extremes | Self::Large) {
            // The last scales are different ones.
            let (code, scale) = (FILLS[b % FILLS.len()], SCALE_FILLS.get(b / FILLS.len() % (SCALE_FILLS.len() + 1)));
            for (i, byte) in block.iter_mut().enumerate() {
                let (fill, low_bits) =
                    if ty.codes.contains(&i) { (code, 0x11) } else { (*scale.unwrap_or(byte), 0x01) };
                *byte = if self == Self::Large { fill ^ (*byte & low_bits) } else { fill };
            }
        }
        for (i, &at) in ty.f16_fields.iter().enumerate() {
            let bits = match self {
                Self::Edges => SCALES[(b + 3 * i) % SCALES.len()],
                Self::NonFinite if every_other => f16_bits(NOT_NUMBERS[(b / 2 + i) % NOT_NUMBERS.len()]),
                _ => f16_bits(random.sign() * 2.0_f32.powi(-(random.below(12) as i32)) * (1.0 + random.unit())),
            };
            block[at..at + 2].copy_from_slice(&bits.to_le_bytes());
        }
        block
    }
}

/// The bytes of whole blocks.
pub(super) fn encoded(ty: &NaiveType, x: &[f32]) -> Vec<u8> {
    ty.encode_row(x).unwrap_or_else(|| {
        let mut bytes = vec![0; x.len() / ty.elements * ty.bytes];
        encode_row(ty.ty, x, &mut bytes).expect("finite elements, whole blocks, a type with an encoder");
        bytes
    })
}
