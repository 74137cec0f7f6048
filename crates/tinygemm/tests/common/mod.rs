//! Reading vectors, and numbers for tests.

#![allow(dead_code, reason = "each test file uses some of it")]

use half::bf16;

/// What is left of a file of arrays.
pub(crate) struct Arrays<'a>(pub(crate) &'a [u8]);

impl<'a> Arrays<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    pub(crate) fn bf16s(&mut self, len: usize) -> Vec<bf16> {
        let bytes = self.bytes(2 * len).as_chunks().0;
        bytes.iter().map(|two| bf16::from_bits(u16::from_le_bytes(*two))).collect()
    }

    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        self.bytes(4 * len).as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
    }
}

/// Pseudo-random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    pub(crate) fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(end)) >> 32) as u32
    }

    /// Between -1 and 1.
    pub(crate) fn float(&mut self) -> f32 {
        self.bits() as f32 / 2_147_483_648.0 - 1.0
    }

    pub(crate) fn codes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(16) as u8).collect()
    }

    pub(crate) fn bf16s(&mut self, len: usize) -> Vec<bf16> {
        (0..len).map(|_| bf16::from_f32(self.float())).collect()
    }

    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.float()).collect()
    }
}

/// The bits of floats, for comparisons that tell 0.0 from -0.0.
pub(crate) fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|y| y.to_bits()).collect()
}
