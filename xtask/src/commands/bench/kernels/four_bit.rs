//! The 4-bit paths beside GGUF: [`FourBit`], what a row of the bench names, and [`Codes`], the weights that all sides have.

use half::bf16;
use keepq_tinygemm::select::PathKind;
use keepq_tinygemm::{w4a8, w4a16};

use super::case::Case;
use super::operands::{DEVIATION, distinct_rows};
use crate::synth::random::Random;

/// Shapes of matrices that prompts are multiplied by, of several sizes.
pub(super) const SHAPES: [(usize, usize); 3] = [(2048, 2048), (3072, 2048), (13312, 2048)];

/// One token, and batches.
pub(super) const TOKENS: [usize; 3] = [1, 32, 128];

/// Codes that share a scale where it is not said.
pub(super) const GROUP: usize = 128;

/// Whether a path multiplies floats, and not bytes.
pub(super) const fn by_floats(path: PathKind) -> bool {
    matches!(path, PathKind::W4A16 | PathKind::Fallback)
}

/// A path, and how many codes of a row share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FourBit {
    pub(super) path: PathKind,
    pub(super) group: usize,
}

impl std::fmt::Display for FourBit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path {
            PathKind::W4A16 => write!(f, "W4A16/{}", self.group),
            PathKind::W4A8 => write!(f, "W4A8/{}", self.group),
            PathKind::Int4 => f.write_str("int4"),
            PathKind::Fallback => write!(f, "wna16/{}", self.group),
        }
    }
}

impl FourBit {
    /// Bytes of n rows of k codes, with what belongs to them; none where there is no such shape.
    pub(super) fn bytes(self, n: usize, k: usize) -> Option<usize> {
        let group = self.group;
        let scales = n.checked_mul(k.checked_div(group).filter(|_| k.is_multiple_of(group))?)?;
        match self.path {
            // Scales and offsets of 16 bits.
            PathKind::W4A16 => Some(w4a16::packed_bytes(n, k).ok()? + 4 * scales),
            // A zero point of 8 bits beside each scale.
            PathKind::W4A8 => Some(w4a8::packed_bytes(n, k, group).ok()? + 5 * scales),
            PathKind::Int4 => Some(n.checked_mul(k.div_ceil(2) + 4)?),
            // All zero points are 8.
            PathKind::Fallback => Some(w4a16::packed_bytes(n, k).ok()? + 2 * scales),
        }
    }
}

/// Rows of codes with the scale and the offset of each group, and the tokens that they are multiplied by.
///
/// Scales, offsets and activations are bf16 whatever the path, so that each side has the very same numbers.
#[derive(Debug)]
pub(super) struct Codes {
    pub(super) group: usize,
    /// How many rows differ; after them they repeat.
    pub(super) distinct: usize,
    /// Codes of these, a byte each, `[distinct,k]`.
    pub(super) codes: Vec<u8>,
    /// `[distinct,k/group]`: `w = (code - 8) * scale + offset`.
    pub(super) scales: Vec<[bf16; 2]>,
    /// m rows of k.
    pub(super) x: Vec<f32>,
}

impl Codes {
    /// Makes them from the case alone.
    pub(super) fn of(case: &Case, four_bit: FourBit) -> Self {
        let &Case { n, k, m, .. } = case;
        let FourBit { path, group } = four_bit;
        let mut random = Random::seeded(1);
        let distinct = distinct_rows(n);
        let weights = random.normals(distinct * k, DEVIATION);
        let (mut codes, mut scales) = (Vec::with_capacity(weights.len()), Vec::new());
        for row in weights.chunks_exact(k) {
            let of_row = scale(path, row);
            for weights in row.chunks_exact(group) {
                let pair = if path == PathKind::Int4 { of_row } else { scale(path, weights) };
                let [scale, offset] = pair.map(bf16::to_f32);
                let code = |w: &f32| (((w - offset) / scale).round_ties_even() + 8.0).clamp(0.0, 15.0) as u8;
                codes.extend(weights.iter().map(code));
                scales.push(pair);
            }
        }
        let x = random.normals(m * k, 1.0).into_iter().map(|x| bf16::from_f32(x).to_f32()).collect();
        Self { group, distinct, codes, scales, x }
    }

    /// The distinct rows as floats.
    pub(super) fn rows(&self) -> Vec<f32> {
        let groups = self.codes.chunks_exact(self.group).zip(&self.scales);
        let weights = groups.flat_map(|(codes, pair)| {
            let [scale, offset] = pair.map(bf16::to_f32);
            codes.iter().map(move |code| (f32::from(*code) - 8.0) * scale + offset)
        });
        weights.collect()
    }
}

/// The scale and the offset of some weights.
fn scale(path: PathKind, weights: &[f32]) -> [bf16; 2] {
    let (low, high) = weights.iter().fold((f32::MAX, f32::MIN), |(low, high), w| (low.min(*w), high.max(*w)));
    let extreme = if high > -low { high } else { low };
    let (scale, offset) = match path {
        PathKind::W4A16 => ((high - low) / 15.0, low + (high - low) / 15.0 * 8.0),
        // The code of the extreme is 0, as it is in ONNX Runtime's blocks.
        PathKind::W4A8 | PathKind::Fallback => (extreme / -8.0, 0.0),
        // Levels of -7 to 7, by a scale without a sign.
        PathKind::Int4 => (extreme.abs() / 7.0, 0.0),
    };
    [scale, offset].map(bf16::from_f32)
}

#[cfg(test)]
mod tests {
    use super::super::case::Type;
    use super::*;

    fn case(path: PathKind) -> (Case, FourBit) {
        let four_bit = FourBit { path, group: 32 };
        (Case { ty: Type::FourBit(four_bit), n: 64, k: 96, m: 2, threads: 1 }, four_bit)
    }

    #[test]
    fn bytes_are_codes_scales_and_zeros_of_legal_shapes() {
        let bytes = |path| FourBit { path, group: 32 }.bytes(64, 96);
        assert_eq!(
            PathKind::ALL.map(bytes),
            [Some(3072 + 768), Some(3072 + 2 * 3 * 128 + 960), Some(3072 + 256), Some(3072 + 384)]
        );
        for (n, k) in [(24, 96), (64, 80)] {
            assert!(
                PathKind::ALL
                    .into_iter()
                    .all(|path| path == PathKind::Int4 && k == 96 || FourBit { path, group: 32 }.bytes(n, k).is_none())
            );
        }
    }

    /// A code is at most half a scale away, and one more at the end that rounding to bf16 may have moved.
    #[test]
    fn codes_mean_the_weights_that_they_were_made_of() {
        for path in PathKind::ALL {
            let (case, four_bit) = case(path);
            let codes = Codes::of(&case, four_bit);
            assert_eq!(
                (codes.distinct, codes.codes.len(), codes.scales.len(), codes.x.len()),
                (61, 61 * 96, 61 * 3, 192)
            );
            let weights = Random::seeded(1).normals(61 * 96, DEVIATION);
            let least = if path == PathKind::Int4 { 1 } else { 0 };
            assert!(codes.codes.iter().all(|code| (least..=15).contains(code)), "{path:?}");
            for (i, (wanted, found)) in weights.iter().zip(codes.rows()).enumerate() {
                let scale = codes.scales[i / 32][0].to_f32().abs();
                assert!((wanted - found).abs() < 1.1 * scale, "{path:?}: {wanted} {found}, scale {scale}");
            }
        }
    }
}
