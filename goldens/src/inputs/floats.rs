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
    /// Halfway between two codes, in turn for Q8_0 (and Q8_K), Q4_1, F16 and BF16: how ties are rounded.
    Ties,
    /// 0.0 and -0.0.
    Zeros,
    /// From 2^-10 down to 2^-33, chunk by chunk: scales that are binary16 denormals, or round to 0.
    Small,
    /// From 3000, all of one sign, up to 10^38: scales and scaled sums beyond binary16.
    Huge,
    /// Chunks whose range cannot be inverted, or overflows, in f32. ggml's C code is undefined for them.
    Limits,
    /// Infinities and NaN in every other chunk.
    NonFinite,
    /// Halfway between two codes, in turn for Q4_0, Q5_0 and Q5_1; then two extremes of opposite signs, of which the first
    /// counts.
    Halves,
    /// All 1, then all -1, for 256 elements each: with codes that are all equal the largest sums there are.
    Flat,
    /// ±126 and ±127, with signs that let a sum of 64, 128 or 256 products rise for three quarters, then fall, and in the
    /// next ones fall and rise: what is added up too long in a float passes 2^24 on the way.
    Peaks,
    /// Infinity or NaN as one element, at any place, of every other chunk.
    OneNonFinite,
}

impl Floats {
    /// Those that may be weights.
    pub const FINITE: [Self; 11] = [
        Self::Gaussian,
        Self::Asymmetric,
        Self::Outlier,
        Self::Ones,
        Self::Ties,
        Self::Zeros,
        Self::Small,
        Self::Huge,
        Self::Limits,
        Self::Halves,
        Self::Flat,
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
            Self::Halves => "halves",
            Self::Flat => "flat",
            Self::Peaks => "peaks",
            Self::OneNonFinite => "one-non-finite",
        }
    }

    /// Whether C defines what ggml's quantizers do with it.
    #[must_use]
    pub const fn is_defined_in_ggml(self) -> bool {
        !matches!(self, Self::Limits | Self::NonFinite | Self::OneNonFinite)
    }

    /// `len` elements; what differs from chunk to chunk does so every 32.
    #[must_use]
    pub fn row(self, len: usize, seed: u64) -> Vec<f32> {
        self.row_of(32, len, seed)
    }

    /// `len` elements, in chunks of so many.
    #[must_use]
    pub fn row_of(self, chunk: usize, len: usize, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        let mut row: Vec<f32> = (0..len).map(|i| self.element(i, i / chunk, &mut random)).collect();
        match self {
            Self::Outlier if len > 0 => row[len / 3] = 50.0,
            // Where an element is the extreme that makes the scale 1, see `tie`.
            Self::Ties => {
                for chunk in row.chunks_mut(chunk).step_by(4) {
                    chunk[0] = -127.0;
                }
                for chunk in row.chunks_mut(chunk).skip(1).step_by(4) {
                    ends(chunk, 15.0, 0.0);
                }
            }
            Self::Halves => {
                for (c, chunk) in row.chunks_mut(chunk).enumerate() {
                    match c % 4 {
                        0 => chunk[0] = -8.0,
                        1 => chunk[0] = -16.0,
                        2 => ends(chunk, 31.0, 0.0),
                        _ => ends(chunk, 16.0, -16.0),
                    }
                }
            }
            Self::OneNonFinite => {
                for (c, chunk) in row.chunks_mut(chunk).skip(1).step_by(2).enumerate() {
                    chunk[random.below(chunk.len())] = [f32::INFINITY, f32::NAN, f32::NEG_INFINITY][c % 3];
                }
            }
            _ => {}
        }
        row
    }

    /// Element i, in chunk c.
    fn element(self, i: usize, c: usize, random: &mut Random) -> f32 {
        match self {
            Self::Gaussian => random.gaussian(),
            Self::Asymmetric => 1.5 + 0.5 * random.gaussian(),
            Self::Outlier | Self::OneNonFinite => random.gaussian(),
            Self::Ones => random.sign(),
            Self::Ties => tie(c, random),
            Self::Zeros => 0.0 * random.sign(),
            Self::Small => random.gaussian() * 2.0_f32.powi(-10 - (c % 24) as i32),
            Self::Huge => match c % 5 {
                0 => 3000.0 + random.unit(),
                1 => 8.0e6 * random.sign() * (0.5 + random.unit()),
                2 => 65_504.0 * 127.0 * random.sign(),
                3 => 1.0e30 * random.gaussian(),
                _ => 1.0e38 * (random.unit() - 0.5),
            },
            Self::Limits => {
                let scale = [4.0e-37, 3.8e-37, 3.7e-37, 4.4e-38, 1.0e-38, 1.0e-42, 1.0e-45, 3.4e38];
                scale[c % scale.len()] * (2.0 * random.unit() - 1.0)
            }
            Self::NonFinite => match (c % 2, random.below(16)) {
                (1, 0) => f32::INFINITY,
                (1, 1) => f32::NEG_INFINITY,
                (1, 2) => f32::NAN,
                _ => random.gaussian(),
            },
            Self::Halves => half(c, random),
            Self::Flat => [1.0, -1.0][i / 256 % 2],
            Self::Peaks => {
                let period = 64 << (i / 256 % 3);
                let rises = (i % period < period / 4 * 3) == (i / period).is_multiple_of(2);
                (127 - random.below(2)) as f32 * if rises { 1.0 } else { -1.0 }
            }
        }
    }
}

/// Gives a chunk its first and its last element.
fn ends(chunk: &mut [f32], first: f32, last: f32) {
    chunk[0] = first;
    *chunk.last_mut().expect("chunks are not empty") = last;
}

/// An element halfway between two codes of scale 1, of three types in turn.
fn half(chunk: usize, random: &mut Random) -> f32 {
    match chunk % 4 {
        0 => random.below(16) as f32 - 7.5,  // Q4_0
        2 => random.below(31) as f32 + 0.5,  // Q5_1, minimum 0
        _ => random.below(31) as f32 - 15.5, // Q5_0
    }
}

/// An element halfway between two representable ones, of four types in turn.
fn tie(chunk: usize, random: &mut Random) -> f32 {
    match chunk % 4 {
        0 => random.below(252) as f32 - 125.5,                  // Q8_0, scale 1
        1 => random.below(15) as f32 + 0.5,                     // Q4_1, scale 1 and minimum 0
        2 => 1.0 + (2 * random.below(512) + 1) as f32 / 2048.0, // F16, unit 2^-10
        _ => 1.0 + (2 * random.below(64) + 1) as f32 / 256.0,   // BF16, unit 2^-7
    }
}

/// Rows of three chunks, one after another, of all kinds that are defined in ggml, in magnitudes from 2^-30 to 2^29.
#[must_use]
pub fn fresh_rows(chunk: usize, seed: u64, rows: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let mut row = |kind: Floats| {
        let scale = match kind {
            Floats::Gaussian | Floats::Asymmetric | Floats::Outlier => 2.0_f32.powi(random.below(60) as i32 - 30),
            _ => 1.0,
        };
        kind.row_of([32, chunk][random.below(2)], 3 * chunk, random.bits()).into_iter().map(move |v| v * scale)
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
