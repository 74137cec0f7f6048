//! [`SlabWeights`]: formats whose columns are slabs, and where the scales of their rows lie.

use std::ops::Range;

use keepq_blocks::Bf16;
use keepq_dot::{LANES, Target};
use keepq_tinygemm::{Slab, w4a16, wna16};

use super::EIGHTS;
use super::arithmetic::Arithmetic;

/// Weights that are slabs of columns.
pub(super) trait SlabWeights<'a>: Copy {
    fn k(&self) -> usize;

    fn group(&self) -> usize;

    fn slabs(&self, rows: Range<usize>) -> impl Iterator<Item = Slab<'a>>;

    /// The scales and zeros of eight rows from `first` in group `g`.
    fn eight<T: Target>(&self, target: T, g: usize, first: usize) -> [T::F32s; 2];
}

impl<'a> SlabWeights<'a> for w4a16::Weights<'a> {
    fn k(&self) -> usize {
        self.packed().k()
    }

    fn group(&self) -> usize {
        w4a16::Weights::group(self)
    }

    fn slabs(&self, rows: Range<usize>) -> impl Iterator<Item = Slab<'a>> {
        self.packed().slabs(rows.start, rows.end)
    }

    #[inline(always)]
    fn eight<T: Target>(&self, target: T, g: usize, first: usize) -> [T::F32s; 2] {
        let of_group = &self.scales()[g * self.packed().n() + first..][..LANES];
        let mut pairs = [[0; 2]; LANES];
        for lane in 0..LANES {
            let [scale, zero] = of_group[lane];
            pairs[lane] = [scale.to_bits().cast_signed(), zero.to_bits().cast_signed()];
        }
        target.widen_bf16s(target.load_pairs(&pairs))
    }
}

impl<'a> SlabWeights<'a> for wna16::Weights<'a> {
    fn k(&self) -> usize {
        wna16::Weights::k(self)
    }

    fn group(&self) -> usize {
        wna16::Weights::group(self)
    }

    fn slabs(&self, rows: Range<usize>) -> impl Iterator<Item = Slab<'a>> {
        wna16::Weights::slabs(self, rows.start, rows.end)
    }

    #[inline(always)]
    fn eight<T: Target>(&self, target: T, g: usize, first: usize) -> [T::F32s; 2] {
        let of_group = &self.scales(g)[first..][..LANES];
        let points = self.eight_zeros(g, first / LANES);
        let [mut scales, mut zeros] = [[0.0; LANES]; 2];
        for lane in 0..LANES {
            scales[lane] = Bf16::from_bits(of_group[lane].to_bits()).to_f32();
            zeros[lane] = (points >> (4 * lane) & 15) as f32;
        }
        [target.load(&scales), target.load(&zeros)]
    }
}

/// What the codes of a slab become weights with in group `g`: scales and offsets.
#[inline(always)]
pub(super) fn scales<'a, T: Target, A: Arithmetic>(
    target: T,
    w: impl SlabWeights<'a>,
    slab: &Slab<'_>,
    g: usize,
) -> [[T::F32s; EIGHTS]; 2] {
    let first = slab.first();
    let mut lanes = [[target.splat(0.0); 2]; EIGHTS];
    for e in 0..EIGHTS {
        if slab.step() == 1 {
            lanes[e] = w.eight(target, g, first[e / 2] + e % 2 * LANES);
        } else if e % 2 == 0 || slab.is_whole() {
            // Sixteen neighbours; of each two the first, or the second.
            let from = first[0] + e % 2 * 2 * LANES;
            let [low, high] = [w.eight(target, g, from), w.eight(target, g, from + LANES)];
            for i in 0..2 {
                lanes[e][i] = target.unpair(low[i], high[i])[e / 2];
            }
        }
    }
    let [mut scales, mut offsets] = [[target.splat(0.0); EIGHTS]; 2];
    for e in 0..EIGHTS {
        scales[e] = lanes[e][0];
        offsets[e] = A::offset(target, lanes[e][0], lanes[e][1]);
    }
    [scales, offsets]
}
