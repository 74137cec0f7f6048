//! [`Weights`]: packed codes with the scale and the zero of each group; their product with activations.

use half::bf16;

use super::{Packed, PackedError};
use crate::error::is_group;

/// Weights `w[n,k]`: packed codes, and for each group of codes of a row a bf16 scale and a bf16 zero.
///
/// ```text
/// scales[K/group][N]   pairs (scale, zero), by plain n in every layout
/// w = (code - 8) * scale + zero
/// ```
///
/// The zero is an offset in the units of the weights, not a code. Each layout rounds in its own way
/// ([`Layout::weight`](super::Layout::weight)), so that the same weights in two layouts may give results that differ in the last bits.
///
/// ```
/// use half::bf16;
/// use keepq_tinygemm::w4a16::{Layout, PackedError, Weights, pack};
///
/// let (n, k, group) = (16, 32, 32);
/// let mut bytes = vec![0; n * k / 2];
/// let packed = pack(Layout::Avx2, n, k, &vec![10; n * k], &mut bytes)?;
/// let scales = vec![[bf16::from_f32(0.5), bf16::from_f32(-0.25)]; n];
/// let w = Weights::new(packed, group, &scales)?;
///
/// let mut y = vec![0.0; n]; // m = 1
/// w.multiply(&vec![1.0; k], &mut y);
/// assert_eq!(y[0], 32.0 * (2.0 * 0.5 - 0.25));
/// # Ok::<(), PackedError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    packed: Packed<'a>,
    group: usize,
    scales: &'a [[bf16; 2]],
}

impl<'a> Weights<'a> {
    /// Puts codes and scales together.
    ///
    /// # Errors
    /// [`PackedError::Group`] where `group` is none of 32, 64, 128 and 256, or no divisor of `k`; [`PackedError::ScalesLength`] where
    /// there are not `k / group * n` pairs.
    pub fn new(packed: Packed<'a>, group: usize, scales: &'a [[bf16; 2]]) -> Result<Self, PackedError> {
        let (n, k) = (packed.n(), packed.k());
        if !is_group(k, group) {
            return Err(PackedError::Group { k, group });
        }
        let (groups, found) = (k / group, scales.len());
        if found != groups * n {
            return Err(PackedError::ScalesLength { n, groups, expected: groups * n, found });
        }
        Ok(Self { packed, group, scales })
    }

    /// The codes.
    #[must_use]
    pub const fn packed(&self) -> Packed<'a> {
        self.packed
    }

    /// Codes of a row that share a scale and a zero.
    #[must_use]
    pub const fn group(&self) -> usize {
        self.group
    }

    /// The pairs of scale and zero, `[k / group][n]`.
    #[must_use]
    pub const fn scales(&self) -> &'a [[bf16; 2]] {
        self.scales
    }

    /// Bytes of codes, scales and zeros: all that the weights take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.packed.bytes().len() + size_of_val(self.scales)
    }

    /// The weights of row `n` as floats, rounded as the layout's kernel does; `None` where there is no such row.
    #[must_use]
    pub fn row(&self, n: usize) -> Option<impl Iterator<Item = f32> + use<'a>> {
        let (packed, group, scales) = (self.packed, self.group, self.scales);
        let weight = move |(k, code): (usize, u8)| {
            let [scale, zero]: [bf16; 2] = scales[k / group * packed.n() + n];
            packed.layout().weight(code, scale.to_f32(), zero.to_f32())
        };
        Some(packed.row(n)?.enumerate().map(weight))
    }

    /// `y[t * n + r]`: all tokens by all rows, overwritten; the definition of a W4A16 result before it is rounded to bf16.
    ///
    /// One sum an output, from +0, k ascending, by [`Layout::step`](super::Layout::step). `x` are `m` tokens of `k` activations, which are bf16 in
    /// the operators of PyTorch ([`widen`](crate::widen)); their results are these, rounded by [`narrow`](crate::narrow).
    ///
    /// # Panics
    /// Where `x` is not `m * k` and `y` not `m * n` long for any m.
    pub fn multiply(&self, x: &[f32], y: &mut [f32]) {
        let (n, k, layout) = (self.packed.n(), self.packed.k(), self.packed.layout());
        assert!(x.len() * n == y.len() * k, "x and y are of one m: {} and {} for [{n},{k}]", x.len(), y.len());
        y.fill(0.0);
        for r in 0..n {
            let Some(row) = self.row(r) else { continue };
            for (i, weight) in row.enumerate() {
                for (x, y) in x.chunks_exact(k).zip(y.chunks_exact_mut(n)) {
                    y[r] = layout.step(x[i], weight, y[r]);
                }
            }
        }
    }
}
