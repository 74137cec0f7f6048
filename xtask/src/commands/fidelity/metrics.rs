//! Distances between predictions, from logits, in f64.
//!
//! A row of logits `l` predicts token `i` with `p_i = exp(l_i) / Σ exp(l)`.

use keepq_decoder::argmax;

/// What a row of logits predicts, as far as others are compared with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prediction<'l> {
    logits: &'l [f32],
    /// `ln Σ exp(l)`
    log_sum: f64,
    /// The likeliest token, the first of equals.
    first: u32,
}

impl<'l> Prediction<'l> {
    /// `None` where there are no logits or one is infinite or NaN.
    pub(super) fn of(logits: &'l [f32]) -> Option<Self> {
        let first = argmax(logits)?;
        let largest = f64::from(logits[first as usize]);
        // The largest is taken out, so that no power overflows.
        let sum: f64 = logits.iter().map(|&l| (f64::from(l) - largest).exp()).sum();
        let log_sum = largest + sum.ln();
        let finite = log_sum.is_finite() && logits.iter().all(|l| l.is_finite());
        finite.then_some(Self { logits, log_sum, first })
    }

    /// The likeliest token.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// `-ln p` of a token, in nats; `None` where the vocabulary has no such token.
    pub(super) fn surprise(&self, token: u32) -> Option<f64> {
        Some(self.log_sum - f64::from(*self.logits.get(token as usize)?))
    }

    /// Σ p ln (p / q), in nats: how far `other`, which predicts q, is from this. Both are of one vocabulary.
    pub(super) fn divergence(&self, other: &Self) -> f64 {
        debug_assert_eq!(self.logits.len(), other.logits.len());
        let shift = other.log_sum - self.log_sum;
        let terms = self.logits.iter().zip(other.logits).map(|(&l, &other)| {
            let (l, other) = (f64::from(l), f64::from(other));
            (l - self.log_sum).exp() * (l - other + shift)
        });
        // It is never negative but by what was rounded.
        terms.sum::<f64>().max(0.0)
    }
}

/// How numbers are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) median: f64,
    /// What 99 % of them do not exceed.
    pub(super) p99: f64,
    pub(super) largest: f64,
}

impl Spread {
    /// Of any numbers but NaN; `None` where there are none.
    pub(super) fn of(mut numbers: Vec<f64>) -> Option<Self> {
        let largest = numbers.iter().copied().reduce(f64::max)?;
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        numbers.sort_by(f64::total_cmp);
        // The nearest rank: the least number that so many parts of a hundred do not exceed.
        let quantile = |percent: usize| numbers[(numbers.len() * percent).div_ceil(100) - 1];
        Some(Self { mean, median: quantile(50), p99: quantile(99), largest })
    }
}

/// The perplexity of tokens that were predicted with these surprises, `exp` of their mean.
pub(super) fn perplexity(surprises: &[f64]) -> f64 {
    (surprises.iter().sum::<f64>() / surprises.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-7 * want.abs().max(1.0), "{got} {want}");
    }

    /// Logits of given probabilities, moved by what no prediction depends on.
    fn logits(probabilities: &[f64], moved: f32) -> Vec<f32> {
        probabilities.iter().map(|p| p.ln() as f32 + moved).collect()
    }

    #[test]
    fn surprises_are_those_of_the_probabilities() {
        for moved in [0.0, 100.0, -1000.0] {
            // Powers of two apart: 1/2, 1/4, 1/8, 1/8.
            let logits: Vec<f32> = [3.0, 2.0, 1.0, 1.0].map(|l| l * std::f32::consts::LN_2 + moved).to_vec();
            let prediction = Prediction::of(&logits).expect("finite logits");
            assert_eq!(prediction.first(), 0);
            for (token, halves) in [(0, 1.0), (1, 2.0), (2, 3.0), (3, 3.0)] {
                let surprise = prediction.surprise(token).expect("a token");
                assert!((surprise - halves * std::f64::consts::LN_2).abs() < 1e-4, "{surprise}");
            }
            assert_eq!(prediction.surprise(4), None);
        }
        // A uniform prediction of n tokens has the perplexity n.
        let surprise = Prediction::of(&[7.0; 5]).and_then(|even| even.surprise(3)).expect("a token");
        close(perplexity(&[surprise; 4]), 5.0);
        // The geometric mean of 2 and 8.
        close(perplexity(&[2.0_f64.ln(), 8.0_f64.ln()]), 4.0);
    }

    #[test]
    fn divergences_are_those_worked_out_by_hand() {
        let divergence = |p: &[f64], q: &[f64]| {
            let (p, q) = (logits(p, 1.0), logits(q, -2.0));
            Prediction::of(&p).expect("finite").divergence(&Prediction::of(&q).expect("finite"))
        };
        // 1/2 ln (1/2 / 1/4) + 1/2 ln (1/2 / 3/4) = ln 2 / 2 - ln (3/2) / 2
        close(divergence(&[0.5, 0.5], &[0.25, 0.75]), 0.143_841_036_225_890_3);
        // The other way round it is another: 1/4 ln (1/2) + 3/4 ln (3/2)
        close(divergence(&[0.25, 0.75], &[0.5, 0.5]), 0.130_812_035_941_137_5);
        // 0.9 ln 9 - 0.1 ln 9
        close(divergence(&[0.9, 0.1], &[0.1, 0.9]), 1.757_779_661_930_553);
        close(divergence(&[0.2, 0.3, 0.5], &[0.2, 0.3, 0.5]), 0.0);
        // What p does not predict does not count, however far q is.
        let certain = [100.0, -100.0];
        let even = [0.0, 0.0];
        let [certain, even] = [&certain, &even].map(|l| Prediction::of(l).expect("finite"));
        close(certain.divergence(&even), std::f64::consts::LN_2);
    }

    #[test]
    fn what_is_no_number_predicts_nothing() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(Prediction::of(&[1.0, bad]).is_none(), "{bad}");
        }
        assert!(Prediction::of(&[]).is_none());
    }

    #[test]
    fn a_spread_is_by_the_nearest_rank() {
        let spread = Spread::of((1..=200).rev().map(f64::from).collect()).expect("numbers");
        assert_eq!(spread, Spread { mean: 100.5, median: 100.0, p99: 198.0, largest: 200.0 });
        let one = Spread::of(vec![3.0]).expect("a number");
        assert_eq!(one, Spread { mean: 3.0, median: 3.0, p99: 3.0, largest: 3.0 });
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
