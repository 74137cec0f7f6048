//! F16 and BF16, as scales in a block and as elements of a tensor: little-endian bytes at any address.

use bytemuck::{Pod, Zeroable};

use crate::{Block, GgmlType};

/// An IEEE binary16 value: a scale, or the block of one element of an F16 tensor, as two little-endian bytes.
///
/// `half::f16::to_f32` asks the CPU for F16C on every call, which does not belong in an inner loop, and a
/// table of 65,536 floats would push weights out of L2. [`F16::to_f32`] is straight-line integer and float
/// code instead, which compilers vectorize; it agrees with `half` on all 65,536 patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct F16([u8; 2]);

impl F16 {
    /// The value with these 16 bits.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits.to_le_bytes())
    }

    /// The 16 bits of the value.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        u16::from_le_bytes(self.0)
    }

    /// `x` rounded to the nearest binary16, ties to even; beyond 65,504 infinity, as IEEE says.
    #[inline]
    #[must_use]
    pub fn from_f32(x: f32) -> Self {
        Self::from_bits(half::f16::from_f32_const(x).to_bits())
    }

    /// The value as an f32, exactly. Any NaN becomes some NaN.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let magnitude = bits & 0x7fff;
        // Shifted into place; the exponents' biases differ by 112.
        let normal = f32::from_bits((magnitude << 13) + (112 << 23));
        // From an integer: as an f32 denormal that is multiplied it would take a hundred times as long.
        let denormal = magnitude as f32 * f32::from_bits((127 - 24) << 23);
        let infinite_or_nan = f32::from_bits(magnitude << 13 | 0x7f80_0000);
        let value = if magnitude < 1 << 10 {
            denormal
        } else if magnitude < 31 << 10 {
            normal
        } else {
            infinite_or_nan
        };
        f32::from_bits(value.to_bits() | (bits & 0x8000) << 16)
    }
}

/// A bfloat16 value (the upper half of an f32), the block of one element of a BF16 tensor, as two little-endian bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bf16([u8; 2]);

impl Bf16 {
    /// The value with these 16 bits.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits.to_le_bytes())
    }

    /// The 16 bits of the value.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        u16::from_le_bytes(self.0)
    }

    /// `x` rounded to the nearest bfloat16, ties to even; a NaN stays a (quiet) NaN.
    #[inline]
    #[must_use]
    pub fn from_f32(x: f32) -> Self {
        Self::from_bits(half::bf16::from_f32(x).to_bits())
    }

    /// The value as an f32, exactly.
    #[inline(always)]
    #[must_use]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits((self.to_bits() as u32) << 16)
    }
}

impl Block for F16 {
    const TYPE: GgmlType = GgmlType::F16;
    const LEN: usize = 1;
    type Floats = [f32; 1];

    #[inline(always)]
    fn decode(&self) -> [f32; 1] {
        [self.to_f32()]
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        // An exponent of all ones.
        self.to_bits() & 0x7c00 != 0x7c00
    }
}

impl Block for Bf16 {
    const TYPE: GgmlType = GgmlType::BF16;
    const LEN: usize = 1;
    type Floats = [f32; 1];

    #[inline(always)]
    fn decode(&self) -> [f32; 1] {
        [self.to_f32()]
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        self.to_f32().is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_agrees_with_half_on_every_pattern() {
        for bits in 0..=u16::MAX {
            let ours = F16::from_bits(bits).to_f32();
            let theirs = half::f16::from_bits(bits).to_f32_const();
            assert!(
                ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
                "{bits:#06x}: {ours} against {theirs}"
            );
        }
    }

    #[test]
    fn bf16_is_the_upper_half_of_an_f32_rounded_to_even() {
        assert_eq!(Bf16::from_f32(f32::from_bits(0x3f80_8000)).to_bits(), 0x3f80);
        assert_eq!(Bf16::from_f32(f32::from_bits(0x3f81_8000)).to_bits(), 0x3f82);
        assert_eq!(Bf16::from_f32(f32::from_bits(0x3f80_8001)).to_bits(), 0x3f81);
        assert!(Bf16::from_f32(f32::NAN).to_f32().is_nan());
        assert_eq!(Bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
    }

    #[test]
    fn f16_overflows_to_infinity_and_keeps_the_sign() {
        assert_eq!(F16::from_f32(65_519.0).to_f32(), 65_504.0);
        assert_eq!(F16::from_f32(65_520.0).to_f32(), f32::INFINITY);
        assert_eq!(F16::from_f32(-0.0).to_f32().to_bits(), (-0.0_f32).to_bits());
    }
}
