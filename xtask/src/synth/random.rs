//! [`Random`] and [`Indexed`]: numbers from a seed, by exact arithmetic alone, so that they are the same on every machine.

/// What SplitMix64 counts by.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's function of the count.
const fn mixed(count: u64) -> u64 {
    let mut z = count;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Uniform in [0, 1).
fn uniform(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1_u32 << 24) as f32
}

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
        self.state = self.state.wrapping_add(STEP);
        mixed(self.state)
    }

    /// Any of `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f32 {
        uniform(self.bits())
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

/// A sequence whose numbers can be had in any order, by threads that know nothing of each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    start: u64,
}

impl Indexed {
    /// One of the sequences of this seed.
    pub(super) const fn new(seed: u64, sequence: u64) -> Self {
        Self { start: mixed(mixed(seed).wrapping_add(sequence)) }
    }

    pub(super) const fn bits(self, index: u64) -> u64 {
        mixed(self.start.wrapping_add(index.wrapping_mul(STEP)))
    }

    /// Uniform in [0, 1).
    pub(super) fn uniform(self, index: u64) -> f32 {
        uniform(self.bits(index))
    }

    /// Nearly normal, of variance 1: the sum of the four uniform numbers of 16 bits that are in 64. A large model needs a
    /// thousand million of them, so each is one step of the generator.
    pub(super) fn normal(self, index: u64) -> f32 {
        let bits = self.bits(index);
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        // The deviation of a sum of four is 65536 / sqrt(3).
        (sum as f32 - 131_070.0) * (1.732_050_8 / 65_536.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the seed 1234567, as they are published for SplitMix64.
    #[test]
    fn the_sequence_is_splitmix64() {
        let mut random = Random::seeded(1_234_567);
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        assert_eq!(std::array::from_fn(|_| random.bits()), published);
    }

    #[test]
    fn indexed_numbers_are_normal_and_no_sequence_is_another() {
        let count = 100_000;
        let [a, b] = [0, 1].map(|sequence| Indexed::new(7, sequence));
        let mean_of = |value: &dyn Fn(u64) -> f32| (0..count).map(|i| f64::from(value(i))).sum::<f64>() / count as f64;
        for (mean, wanted) in [
            (mean_of(&|i| a.normal(i)), 0.0),
            (mean_of(&|i| a.normal(i).powi(2)), 1.0),
            (mean_of(&|i| a.normal(i) * a.normal(i + 1)), 0.0),
            (mean_of(&|i| a.normal(i) * b.normal(i)), 0.0),
        ] {
            assert!((mean - wanted).abs() < 0.02, "{mean}, not {wanted}");
        }
    }
}
