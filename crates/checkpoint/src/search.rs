//! [`Scheme`]: how a scale and a zero are found for a group of floats.

use half::{bf16, f16};

/// How a scale is stored: it is rounded before codes are chosen for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// 16 bits, eight of them the exponent.
    Bf16,
    /// 16 bits, five of them the exponent: scales above 65504 cannot be stored.
    F16,
    /// 32 bits.
    F32,
}

impl Storage {
    pub(crate) fn round(self, x: f32) -> f32 {
        match self {
            Self::Bf16 => bf16::from_f32(x).to_f32(),
            Self::F16 => f16::from_f32(x).to_f32(),
            Self::F32 => x,
        }
    }
}

/// What the 16 codes of a group are spread over. In all of them the candidate with the least sum of squared errors is taken, the first of equal
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// From the least to the greatest weight, shrunk about their middle by eight factors from 1 to 0.85: scale and offset are bf16,
    /// `w = (code - 8) * scale + offset`.
    Offset,
    /// Evenly about zero: the scale is `f * amax / 8` for eight factors from 1.06 to 0.75, `w = (code - 8) * scale`.
    Symmetric(Storage),
    /// As [`Offset`](Self::Offset), but zero is always in the range and is the weight of a code: `w = (code - zero) * scale`.
    Asymmetric(Storage),
}

/// Factors of the symmetric search.
const SYMMETRIC: [f32; 8] = [1.06, 1.0, 0.95, 0.9, 0.875, 0.85, 0.8, 0.75];

/// Candidates between the least and the greatest weight, and the last of their factors.
const SHRUNK: (usize, f32) = (8, 0.85);

/// A scale, and a zero: an offset in the units of the weights, or a zero point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScaleZero {
    pub scale: f32,
    pub zero: f32,
}

impl Scheme {
    /// The best scale and zero for a group of finite weights; `None` where no scale can be stored.
    pub(crate) fn search(self, w: &[f32]) -> Option<ScaleZero> {
        let (min, max) = w.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &w| (min.min(w), max.max(w)));
        let mut best: Option<(f64, ScaleZero)> = None;
        for i in 0..8 {
            let candidate = self.candidate(i, min, max);
            if !(candidate.scale.is_finite() && candidate.zero.is_finite()) {
                continue;
            }
            let error = w.iter().map(|&w| f64::from(self.weight(candidate, self.code(candidate, w)) - w).powi(2)).sum();
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    fn candidate(self, i: usize, min: f32, max: f32) -> ScaleZero {
        let shrunk = |min: f32, max: f32| {
            let factor = 1.0 - (1.0 - SHRUNK.1) * i as f32 / (SHRUNK.0 - 1) as f32;
            let (middle, half) = (min / 2.0 + max / 2.0, factor * (max / 2.0 - min / 2.0));
            (middle - half, half / 7.5)
        };
        match self {
            Self::Offset => {
                let (least, scale) = shrunk(min, max);
                let scale = Storage::Bf16.round(scale);
                ScaleZero { scale, zero: Storage::Bf16.round(least + 8.0 * scale) }
            }
            Self::Symmetric(storage) => {
                let amax = max.max(-min);
                ScaleZero { scale: storage.round(SYMMETRIC[i] * (amax / 8.0)), zero: 8.0 }
            }
            Self::Asymmetric(storage) => {
                let (least, scale) = shrunk(min.min(0.0), max.max(0.0));
                let scale = storage.round(scale);
                let zero = if scale == 0.0 { 8.0 } else { nearest(-least / scale, 0.0, 15.0) };
                ScaleZero { scale, zero }
            }
        }
    }

    /// The code for a weight; 8, or the zero point, where the scale is 0.
    pub(crate) fn code(self, ScaleZero { scale, zero }: ScaleZero, w: f32) -> u8 {
        let (steps, zero) = match self {
            Self::Offset => (w - zero, 8.0),
            Self::Symmetric(_) | Self::Asymmetric(_) => (w, zero),
        };
        let level = if scale == 0.0 { 0.0 } else { nearest(steps / scale, -zero, 15.0 - zero) };
        (level + zero) as u8
    }

    fn weight(self, ScaleZero { scale, zero }: ScaleZero, code: u8) -> f32 {
        match self {
            Self::Offset => (f32::from(code) - 8.0) * scale + zero,
            Self::Symmetric(_) | Self::Asymmetric(_) => (f32::from(code) - zero) * scale,
        }
    }
}

/// The nearest integer in a range, halves to even. Beside 1.5 * 2^23 a float's last bit is 1, so that adding rounds: many times as fast as the
/// function of that name on processors without an instruction for it.
fn nearest(x: f32, least: f32, most: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0;
    (x.clamp(least, most) + MAGIC) - MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMES: [Scheme; 5] = [
        Scheme::Offset,
        Scheme::Symmetric(Storage::F16),
        Scheme::Symmetric(Storage::F32),
        Scheme::Asymmetric(Storage::F16),
        Scheme::Asymmetric(Storage::Bf16),
    ];

    fn error(scheme: Scheme, w: &[f32]) -> f32 {
        let found = scheme.search(w).expect("finite weights");
        w.iter().map(|&w| (scheme.weight(found, scheme.code(found, w)) - w).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn what_codes_can_say_is_said_exactly() {
        let levels: Vec<f32> = (0..32).map(|i| (i % 16 - 8) as f32 * 0.25).collect();
        for scheme in SCHEMES {
            assert_eq!(error(scheme, &levels), 0.0, "{scheme:?}");
        }
        // Away from zero an offset reaches what a zero point of 0 to 15 does not.
        let far: Vec<f32> = levels.iter().map(|w| w + 16.0).collect();
        assert_eq!(error(Scheme::Offset, &far), 0.0);
        assert!(error(Scheme::Asymmetric(Storage::F32), &far) > 0.1);
    }

    #[test]
    fn one_value_is_kept_and_zeros_are_zeros() {
        for scheme in SCHEMES {
            assert_eq!(error(scheme, &[0.0; 32]), 0.0, "{scheme:?}");
            assert!(error(scheme, &[0.75; 32]) < 0.06, "{scheme:?}");
            assert!(error(scheme, &[-0.75; 32]) < 0.06, "{scheme:?}");
        }
        assert_eq!(error(Scheme::Offset, &[0.75; 32]), 0.0);
        assert_eq!(error(Scheme::Asymmetric(Storage::F32), &[-0.75; 32]), 0.0, "all but rounding");
    }

    #[test]
    fn a_shrunk_range_is_taken_where_it_is_better() {
        // One outlier among many small weights.
        let mut w: Vec<f32> = (0..64).map(|i| (i as f32 * 0.7).sin()).collect();
        w[5] = 1.3;
        for scheme in SCHEMES {
            let found = scheme.search(&w).expect("finite weights");
            let squares = |candidate| {
                w.iter()
                    .map(|&w| f64::from(scheme.weight(candidate, scheme.code(candidate, w)) - w).powi(2))
                    .sum::<f64>()
            };
            let (min, max) = (w.iter().copied().fold(0.0, f32::min), w.iter().copied().fold(0.0, f32::max));
            let all: Vec<f64> = (0..8).map(|i| squares(scheme.candidate(i, min, max))).collect();
            assert_eq!(squares(found), all.iter().copied().fold(f64::INFINITY, f64::min), "{scheme:?} {all:?}");
        }
    }

    #[test]
    fn scales_that_cannot_be_stored_are_not_taken() {
        assert_eq!(Scheme::Symmetric(Storage::F16).search(&[3e6, -1.0]), None);
        assert!(Scheme::Symmetric(Storage::F32).search(&[3e38, -1.0]).is_some());
        assert!(Scheme::Offset.search(&[3e38, -3e38]).is_some(), "the range itself would overflow");
        // Below the least f16 the scale is 0, and so are the weights.
        let tiny = Scheme::Symmetric(Storage::F16).search(&[1e-9, -1e-9]).expect("a scale of 0");
        assert_eq!((tiny.scale, Scheme::Symmetric(Storage::F16).code(tiny, 1e-9)), (0.0, 8));
    }
}
