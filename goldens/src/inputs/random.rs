//! [`Random`]: a small generator of numbers, so that inputs need not be stored.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): a counter and a mix.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator of its own for each seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An integer under `bound`, which is small against 2^32.
    pub const fn below(&mut self, bound: usize) -> usize {
        (((self.bits() >> 32) * bound as u64) >> 32) as usize
    }

    /// From 0 up to, not including, 1: a multiple of 2^-24.
    pub const fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / 16_777_216.0
    }

    /// About normal, of variance 1: twelve uniform numbers less six, so that no library's logarithm matters.
    pub fn gaussian(&mut self) -> f32 {
        (0..12).map(|_| self.unit()).sum::<f32>() - 6.0
    }

    /// 1 or -1.
    pub const fn sign(&mut self) -> f32 {
        if self.bits() >> 63 == 0 { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 0 of the generator's published C code.
    #[test]
    fn known_bits() {
        let mut random = Random::new(0);
        assert_eq!(
            [random.bits(), random.bits(), random.bits()],
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]
        );
    }
}
