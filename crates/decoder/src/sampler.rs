//! [`Sampler`]: from logits to a token.

use keepq_dot::rows;

/// Chooses the next token.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// 0: the first of the largest logits, whatever the rest says.
    temperature: f32,
    /// Only the tokens with so many largest logits; 0: all.
    top_k: usize,
    /// Only the smallest set of largest tokens that together have this probability.
    top_p: f32,
    state: u64,
    /// Candidates, reused.
    candidates: Vec<(u32, f32)>,
    probabilities: Vec<f32>,
}

impl Sampler {
    /// Always the largest logit, the first of equal ones.
    #[must_use]
    pub const fn greedy() -> Self {
        Self::seeded(0.0, 0, 1.0, 0)
    }

    /// Draws from the softmax of `logits / temperature`, among the `top_k` largest (0: all) and of these the fewest
    /// that have probability `top_p` together. The same seed gives the same tokens on every machine.
    #[must_use]
    pub const fn seeded(temperature: f32, top_k: usize, top_p: f32, seed: u64) -> Self {
        Self { temperature, top_k, top_p, state: seed, candidates: Vec::new(), probabilities: Vec::new() }
    }

    /// The next token; `None` where there are no logits, or all are NaN.
    pub fn sample(&mut self, logits: &[f32]) -> Option<u32> {
        let largest = argmax(logits)?;
        if self.temperature <= 0.0 {
            return Some(largest);
        }
        self.candidates.clear();
        self.candidates.extend((0..).zip(logits.iter().copied()).filter(|(_, logit)| !logit.is_nan()));
        // Larger logits first, of equal ones the smaller id: an order without ties, the same everywhere.
        self.candidates.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        if self.top_k > 0 {
            self.candidates.truncate(self.top_k);
        }
        self.probabilities.clear();
        // From the largest down, so that no temperature makes infinities of finite logits.
        let top = logits[largest as usize];
        self.probabilities.extend(self.candidates.iter().map(|(_, logit)| (logit - top) / self.temperature));
        rows::softmax(&mut self.probabilities);

        let mut kept = 0.0;
        let mut count = 0;
        for &probability in &self.probabilities {
            kept += probability;
            count += 1;
            if kept >= self.top_p {
                break;
            }
        }
        // Infinite logits leave nothing to draw from.
        if !kept.is_finite() {
            return Some(largest);
        }
        let mut left = self.uniform() * kept;
        let drawn = self.probabilities[..count].iter().position(|&probability| {
            left -= probability;
            left < 0.0
        });
        Some(self.candidates.get(drawn.unwrap_or(count - 1)).map_or(largest, |&(id, _)| id))
    }

    /// Uniform in [0, 1), from the SplitMix64 sequence of the seed.
    fn uniform(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 40) as f32 / (1_u64 << 24) as f32
    }
}

/// The index of the largest number, the first of equal ones; `None` where there is none but NaN.
#[must_use]
pub fn argmax(logits: &[f32]) -> Option<u32> {
    let mut largest: Option<(u32, f32)> = None;
    for (id, &logit) in (0..).zip(logits) {
        let beaten = largest.is_none_or(|(_, best)| logit > best);
        if beaten && !logit.is_nan() {
            largest = Some((id, logit));
        }
    }
    largest.map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_first_of_the_largest() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, f32::NAN]), Some(1));
        assert_eq!(argmax(&[f32::NAN, -5.0]), Some(1));
        assert_eq!(argmax(&[f32::NAN]), None);
        assert_eq!(Sampler::greedy().sample(&[]), None);
    }

    #[test]
    fn a_seed_gives_the_same_tokens_and_another_gives_others() {
        let logits: Vec<f32> = (0..50).map(|i| (i as f32 * 0.7).sin()).collect();
        let draw = |seed| -> Vec<u32> {
            let mut sampler = Sampler::seeded(1.0, 0, 1.0, seed);
            (0..20).filter_map(|_| sampler.sample(&logits)).collect()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let logits = [1.0_f32.ln(), 3.0_f32.ln(), f32::NEG_INFINITY];
        let mut sampler = Sampler::seeded(1.0, 0, 1.0, 1);
        let ones = (0..4000).filter(|_| sampler.sample(&logits) == Some(1)).count();
        assert!((2850..3150).contains(&ones), "{ones} of 4000, 3000 expected");
    }

    #[test]
    fn infinities_and_tiny_temperatures_leave_the_largest() {
        assert_eq!(Sampler::seeded(1.0, 0, 1.0, 1).sample(&[2.0, f32::INFINITY, 0.5]), Some(1));
        for temperature in [1e-40, f32::from_bits(1), f32::NAN] {
            assert_eq!(Sampler::seeded(temperature, 0, 1.0, 1).sample(&[2.0, 3.0, 0.5]), Some(1), "{temperature:e}");
        }
    }

    #[test]
    fn top_k_and_top_p_leave_the_largest() {
        let logits = [0.0, 2.0, 1.0, -1.0];
        let drawn = |top_k, top_p| {
            let mut sampler = Sampler::seeded(5.0, top_k, top_p, 3);
            let mut ids: Vec<u32> = (0..400).filter_map(|_| sampler.sample(&logits)).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        assert_eq!(drawn(0, 1.0), [0, 1, 2, 3]);
        assert_eq!(drawn(2, 1.0), [1, 2]);
        assert_eq!(drawn(0, 0.1), [1]);
        assert_eq!(drawn(1, 1.0), [1]);
    }
}
