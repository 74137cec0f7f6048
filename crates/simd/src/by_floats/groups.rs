//! [`SlabWeights`]: formats whose columns are slabs, and where the scales of their rows lie.

use std::ops::Range;

use keepq_dot::{LANES, Target};
use keepq_tinygemm::{SLAB_HALF, SLAB_ROWS, Slab, w4a16, wna16};

use super::EIGHTS;
use super::arithmetic::Arithmetic;

/// Weights that are slabs of columns.
pub(super) trait SlabWeights<'a>: Copy {
    fn k(&self) -> usize;

    fn group(&self) -> usize;

    fn slabs(&self, rows: Range<usize>) -> impl Iterator<Item = Slab<'a>>;

    /// The scales and zeros of `N` rows from `first` in group `g`.
    fn scales<const N: usize>(&self, g: usize, first: usize) -> [[f32; N]; 2];
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
    fn scales<const N: usize>(&self, g: usize, first: usize) -> [[f32; N]; 2] {
        let pairs = &w4a16::Weights::scales(self)[g * self.packed().n() + first..][..N];
        let [mut scales, mut zeros] = [[0.0; N]; 2];
        for i in 0..N {
            let [scale, zero] = pairs[i];
            (scales[i], zeros[i]) = (widen(scale.to_bits()), widen(zero.to_bits()));
        }
        [scales, zeros]
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
    fn scales<const N: usize>(&self, g: usize, first: usize) -> [[f32; N]; 2] {
        let of_group = &wna16::Weights::scales(self, g)[first..][..N];
        let [mut scales, mut zeros] = [[0.0; N]; 2];
        for i in 0..N {
            scales[i] = widen(of_group[i].to_bits());
            zeros[i] = f32::from(self.zero(first + i, g * self.group()).unwrap_or(0));
        }
        [scales, zeros]
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
    let mut lanes = [[0.0; SLAB_ROWS]; 2];
    let [low, high] = slab.first();
    if slab.step() == 1 {
        for (half, first) in [low, high].into_iter().enumerate() {
            let of_half: [[f32; SLAB_HALF]; 2] = w.scales(g, first);
            for i in 0..2 {
                lanes[i][half * SLAB_HALF..][..SLAB_HALF].copy_from_slice(&of_half[i]);
            }
        }
    } else if slab.is_whole() {
        unpair::<SLAB_ROWS>(w.scales(g, low), &mut lanes);
    } else {
        unpair::<SLAB_HALF>(w.scales(g, low), &mut lanes);
    }
    let [scales, zeros] = lanes.each_ref().map(|lanes| lanes.as_chunks::<LANES>().0);
    let [mut wide, mut offsets] = [[target.splat(0.0); EIGHTS]; 2];
    for e in 0..EIGHTS {
        wide[e] = target.load(&scales[e]);
        offsets[e] = A::offset(target, wide[e], target.load(&zeros[e]));
    }
    [wide, offsets]
}

/// Pairs of rows to lanes: the first of each to the first half.
#[inline(always)]
fn unpair<const N: usize>(rows: [[f32; N]; 2], lanes: &mut [[f32; SLAB_ROWS]; 2]) {
    for i in 0..2 {
        for (at, [first, second]) in rows[i].as_chunks().0.iter().enumerate() {
            (lanes[i][at], lanes[i][SLAB_HALF + at]) = (*first, *second);
        }
    }
}

/// A bf16 number as a float. A NaN keeps its bits.
#[inline(always)]
pub(super) fn widen(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}
