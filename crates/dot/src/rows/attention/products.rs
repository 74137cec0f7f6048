//! Products of several rows of numbers by a panel of eights: scores, and sums of values.

use crate::float::Element;
use crate::scratch::LINE;
use crate::{LANES, Target};

/// Rows of numbers that lie in one slice.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub numbers: &'a [f32],
    /// From one row to the next.
    pub stride: usize,
}

/// Sums in eights, rows of which lie in one slice.
pub(super) struct Sums<'a> {
    pub eights: &'a mut [[f32; LANES]],
    /// From one row to the next.
    pub stride: usize,
}

/// `sums[r][v] += x[r][j] * panel[j][v]` for each of `panel`'s rows of `width` eights, j ascending, `R` rows of `x` and the
/// eights `first..last` of each row.
///
/// `ahead` is fetched into caches meanwhile: what is used once comes from memory.
///
/// Multiplications and additions round separately: on hardware that starts two of each in a cycle, `R * V` of eight chains
/// keep it busy, and sixteen registers hold them.
#[inline(always)]
pub(super) fn add_products<T: Target, E: Element, const R: usize, const V: usize>(
    target: T,
    x: Rows<'_>,
    (panel, width): (&[[E; LANES]], usize),
    sums: &mut Sums<'_>,
    (first, last): (usize, usize),
    ahead: &[[E; LANES]],
) {
    // A part in each turn: too many requests at once are dropped.
    let turns = (last - first).div_ceil(V).max(1);
    let mut ahead = ahead.chunks(ahead.len().div_ceil(turns).max(1));
    let mut v = first;
    while v + V <= last {
        for line in ahead.next().unwrap_or_default().chunks(LINE / size_of::<[E; LANES]>()) {
            target.prefetch(line.as_ptr().cast());
        }
        chains::<T, E, R, V>(target, x, (panel, width), sums, v);
        v += V;
    }
    while v < last {
        chains::<T, E, R, 1>(target, x, (panel, width), sums, v);
        v += 1;
    }
}

#[inline(always)]
fn chains<T: Target, E: Element, const R: usize, const V: usize>(
    target: T,
    x: Rows<'_>,
    (panel, width): (&[[E; LANES]], usize),
    to: &mut Sums<'_>,
    first: usize,
) {
    let depth = panel.len() / width;
    let mut rows = [&x.numbers[..0]; R];
    let mut sums = [[target.splat(0.0); V]; R];
    for r in 0..R {
        rows[r] = &x.numbers[r * x.stride..][..depth];
        for v in 0..V {
            sums[r][v] = target.load(&to.eights[r * to.stride + first + v]);
        }
    }
    for (j, panel) in panel.chunks_exact(width).enumerate() {
        let panel = &panel[first..first + V];
        let mut eights = [target.splat(0.0); V];
        for v in 0..V {
            eights[v] = E::load(target, &panel[v]);
        }
        for r in 0..R {
            let number = target.splat(rows[r][j]);
            for v in 0..V {
                sums[r][v] = target.add(sums[r][v], target.mul(number, eights[v]));
            }
        }
    }
    for r in 0..R {
        for v in 0..V {
            target.store(sums[r][v], &mut to.eights[r * to.stride + first + v]);
        }
    }
}
