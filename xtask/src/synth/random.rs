//! [`Random`]: numbers from a seed, by exact arithmetic alone, so that they are the same on every machine.

/// The SplitMix64 sequence (Steele, Lea and Flood 2014).
#[derive(Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Any of `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// Nearly normal, of variance 1: four uniform numbers, whose sum has variance 1/3.
    pub(crate) fn normal(&mut self) -> f32 {
        let sum: f32 = (0..4).map(|_| self.uniform()).sum();
        (sum - 2.0) * 1.732
    }

    /// `count` normal numbers of standard deviation `deviation`.
    pub(crate) fn normals(&mut self, count: usize, deviation: f32) -> Vec<f32> {
        (0..count).map(|_| self.normal() * deviation).collect()
    }

    /// The weights of a norm: `count` numbers near 1.
    pub(crate) fn around_one(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| 1.0 + 0.1 * self.normal()).collect()
    }
}
