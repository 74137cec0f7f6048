//! [`Floats`]: rows of floats with a name.

use super::Random;

/// A kind of row of floats. The comment says what each is there to catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// Around 0, variance 1.
    Gaussian,
    /// Almost all positive: sums that do not cancel, minimums that are not near `-max`.
    Asymmetric,
    /// Small, with one element of fifty times the size of the others: most codes are 0.
    Outlier,
    /// ±1: every Q8_0 code is 127 or -127.
    Ones,
    /// Halfway between two codes, in turn for Q8_0, Q4_1, F16 and BF16: how ties are rounded.
    Ties,
    /// 0.0 and -0.0.
    Zeros,
    /// From 2^-10 down to 2^-33, block by block: scales that are binary16 denormals, or round to 0.
    Small,
    /// From 3000, all of one sign, up to 10^38: scales and scaled sums beyond binary16.
    Huge,
    /// Blocks whose range cannot be inverted, or overflows, in f32. ggml's C code is undefined for them.
    Limits,
    /// Infinities and NaN in every other block.
    NonFinite,
}

impl Floats {
    /// Those that may be weights.
    pub const FINITE: [Self; 9] = [
        Self::Gaussian,
        Self::Asymmetric,
        Self::Outlier,
        Self::Ones,
        Self::Ties,
        Self::Zeros,
        Self::Small,
        Self::Huge,
        Self::Limits,
    ];

    /// The name in a case's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Asymmetric => "asymmetric",
            Self::Outlier => "outlier",
            Self::Ones => "ones",
            Self::Ties => "ties",
            Self::Zeros => "zeros",
            Self::Small => "small",
            Self::Huge => "huge",
            Self::Limits => "limits",
            Self::NonFinite => "non-finite",
        }
    }

    /// Whether C defines what ggml's quantizers do with it.
    #[must_use]
    pub const fn is_defined_in_ggml(self) -> bool {
        !matches!(self, Self::Limits | Self::NonFinite)
    }

    /// `len` elements.
    #[must_use]
    pub fn row(self, len: usize, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        let mut row: Vec<f32> = (0..len).map(|i| self.element(i, &mut random)).collect();
        match self {
            Self::Outlier if len > 0 => row[len / 3] = 50.0,
            // Where an element is the extreme that makes the scale 1, see `tie`.
            Self::Ties => {
                for block in row.chunks_mut(32).step_by(4) {
                    block[0] = -127.0;
                }
                for block in row.chunks_mut(32).skip(1).step_by(4) {
                    block[0] = 15.0;
                    *block.last_mut().expect("chunks are not empty") = 0.0;
                }
            }
            _ => {}
        }
        row
    }

    fn element(self, i: usize, random: &mut Random) -> f32 {
        let block = i / 32;
        match self {
            Self::Gaussian => random.gaussian(),
            Self::Asymmetric => 1.5 + 0.5 * random.gaussian(),
            Self::Outlier => random.gaussian(),
            Self::Ones => random.sign(),
            Self::Ties => tie(block, random),
            Self::Zeros => 0.0 * random.sign(),
            Self::Small => random.gaussian() * 2.0_f32.powi(-10 - (block % 24) as i32),
            Self::Huge => match block % 5 {
                0 => 3000.0 + random.unit(),
                1 => 8.0e6 * random.sign() * (0.5 + random.unit()),
                2 => 65_504.0 * 127.0 * random.sign(),
                3 => 1.0e30 * random.gaussian(),
                _ => 1.0e38 * (random.unit() - 0.5),
            },
            Self::Limits => {
                let scale = [4.0e-37, 3.8e-37, 3.7e-37, 4.4e-38, 1.0e-38, 1.0e-42, 1.0e-45, 3.4e38];
                scale[block % scale.len()] * (2.0 * random.unit() - 1.0)
            }
            Self::NonFinite => match (block % 2, random.below(16)) {
                (1, 0) => f32::INFINITY,
                (1, 1) => f32::NEG_INFINITY,
                (1, 2) => f32::NAN,
                _ => random.gaussian(),
            },
        }
    }
}

/// An element halfway between two representable ones, of four types in turn.
fn tie(block: usize, random: &mut Random) -> f32 {
    match block % 4 {
        0 => random.below(252) as f32 - 125.5,                  // Q8_0, scale 1
        1 => random.below(15) as f32 + 0.5,                     // Q4_1, scale 1 and minimum 0
        2 => 1.0 + (2 * random.below(512) + 1) as f32 / 2048.0, // F16, unit 2^-10
        _ => 1.0 + (2 * random.below(64) + 1) as f32 / 256.0,   // BF16, unit 2^-7
    }
}

/// Rows of 96 elements, one after another, of all kinds that are defined in ggml, in magnitudes from 2^-30 to 2^29.
#[must_use]
pub fn fresh_rows(seed: u64, rows: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let mut row = |kind: Floats| {
        let scale = match kind {
            Floats::Gaussian | Floats::Asymmetric | Floats::Outlier => 2.0_f32.powi(random.below(60) as i32 - 30),
            _ => 1.0,
        };
        kind.row(96, random.bits()).into_iter().map(move |v| v * scale)
    };
    let kinds = Floats::FINITE.into_iter().filter(|kind| kind.is_defined_in_ggml()).cycle();
    kinds.take(rows).flat_map(&mut row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_what_their_names_say() {
        for floats in Floats::FINITE {
            let row = floats.row(32 * 10, 7);
            assert!(row.iter().all(|v| v.is_finite()), "{}", floats.name());
            assert_eq!(row, floats.row(32 * 10, 7), "{}", floats.name());
        }
        let row = Floats::NonFinite.row(128, 7);
        assert!(row[..32].iter().all(|v| v.is_finite()) && !row[32..64].iter().all(|v| v.is_finite()));
        let signs = Floats::Zeros.row(64, 7).iter().filter(|v| v.is_sign_negative()).count();
        assert!((1..64).contains(&signs));
    }
}
