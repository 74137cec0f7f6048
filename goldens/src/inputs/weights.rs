//! [`Weights`]: rows of bytes of any type, with a name.

use super::{Floats, Random};
use crate::naive::{NaiveType, f16_bits};

/// A kind of weight row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Floats, encoded by the naive implementation.
    Encoded(Floats),
    /// Any bytes as codes (what no encoder writes included), scales of ordinary size and both signs. For types that are
    /// one number: many magnitudes.
    Codes,
    /// The largest, smallest, negative and zero scales by codes that are all equal; for numbers the edges.
    Edges,
    /// Scales, or numbers, that are infinite or NaN, every other block.
    NonFinite,
}

/// binary16 scales at the ends: the largest, the smallest denormal, the smallest normal, zero, one.
const SCALES: [u16; 8] = [0x7bff, 0x3c00, 0x0001, 0xfbff, 0x0000, 0x8001, 0x0400, 0x8000];

/// Bytes that make all codes equal: -128, -127 (or nibbles 8 and 1), -1 (15), 127 (15 and 7), 0.
const FILLS: [u8; 5] = [0x80, 0x81, 0xff, 0x7f, 0x00];

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
        }
    }

    /// Blocks after which [`Edges`](Self::Edges) repeat.
    pub const EDGE_BLOCKS: usize = SCALES.len() * FILLS.len();

    /// The bytes of a row of `k` elements, which are whole blocks.
    #[must_use]
    pub fn row(self, ty: &NaiveType, k: usize, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        match self {
            Self::Encoded(floats) => ty.encode_row(&floats.row(k, seed)),
            _ => (0..k / ty.elements).flat_map(|b| self.block(b, ty, &mut random)).collect(),
        }
    }

    fn block(self, b: usize, ty: &NaiveType, random: &mut Random) -> Vec<u8> {
        let every_other = b % 2 == 1;
        if ty.is_float() {
            return (ty.encode)(&[match self {
                Self::Edges => NUMBERS[b % NUMBERS.len()],
                Self::NonFinite if every_other => NOT_NUMBERS[b / 2 % NOT_NUMBERS.len()],
                Self::Codes => random.gaussian() * 2.0_f32.powi(random.below(24) as i32 - 12),
                _ => random.gaussian(),
            }]);
        }
        let mut block: Vec<u8> = (0..ty.bytes).map(|_| random.bits() as u8).collect();
        if self == Self::Edges {
            block.fill(FILLS[b / SCALES.len() % FILLS.len()]);
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
