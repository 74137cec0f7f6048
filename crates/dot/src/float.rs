//! Float weights (F32, F16, BF16) by f32 activations: eight partial sums, one fused step each.

use keepq_blocks::{Bf16, BlockF32, F16};

use crate::{LANES, Target};

/// Eights in a block. Within it no bounds are checked, which in a loop makes the compiler spill.
const BLOCK: usize = 8;

/// An element of a row of float weights.
pub trait Element: Copy {
    /// Its value.
    fn value(self) -> f32;

    /// The values of eight.
    #[inline(always)]
    fn load<T: Target>(target: T, elements: &[Self; LANES]) -> T::F32s {
        let mut values = [0.0; LANES];
        for lane in 0..LANES {
            values[lane] = elements[lane].value();
        }
        target.load(&values)
    }
}

impl Element for f32 {
    #[inline(always)]
    fn value(self) -> f32 {
        self
    }
}

impl Element for BlockF32 {
    #[inline(always)]
    fn value(self) -> f32 {
        self.to_f32()
    }
}

impl Element for F16 {
    #[inline(always)]
    fn value(self) -> f32 {
        self.to_f32()
    }

    #[inline(always)]
    fn load<T: Target>(target: T, elements: &[Self; LANES]) -> T::F32s {
        target.widen_f16(*elements)
    }
}

impl Element for Bf16 {
    #[inline(always)]
    fn value(self) -> f32 {
        self.to_f32()
    }
}

/// The dot of one weight row and one token: the definition. The shorter of the two counts.
#[inline(always)]
#[must_use]
pub fn dot_float<T: Target, E: Element>(target: T, row: &[E], x: &[f32]) -> f32 {
    let k = row.len().min(x.len());
    let [[partial]] = chains(target, [&row[..k]], [&x[..k]]);
    reduce(partial)
}

/// The sum of the eight partial sums, in the one order.
#[inline(always)]
pub(crate) fn reduce(p: [f32; 8]) -> f32 {
    ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}

/// `y[t * n + r]`: the dots of all weight rows and all tokens, the rows where they lie.
///
/// `k > 0`, and `y` is a whole number of tokens.
pub(crate) fn in_place<T: Target, E: Element>(target: T, elements: &[E], k: usize, x: &[f32], y: &mut [f32]) {
    let n = elements.len() / k;
    let m = y.len() / n;
    let token = |t: usize| &x[t * k..(t + 1) * k];
    let mut t = 0;
    while t < m {
        // One token alone takes as long as two: four are two and two.
        let at_once = match m - t {
            1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
        let y = &mut y[t * n..(t + at_once) * n];
        match at_once {
            1 => target.run(
                #[inline(always)]
                || tile::<T, E, 8, 1>(target, elements, [token(t)], y),
            ),
            2 => target.run(
                #[inline(always)]
                || tile::<T, E, 4, 2>(target, elements, [token(t), token(t + 1)], y),
            ),
            _ => target.run(
                #[inline(always)]
                || tile::<T, E, 4, 3>(target, elements, [token(t), token(t + 1), token(t + 2)], y),
            ),
        }
        t += at_once;
    }
}

/// [`in_place`] of `M` tokens, `R` rows at a time.
///
/// `R * M` chains are at least eight: a fused step takes four cycles, and two can start in each. Twelve, three tokens and a row are
/// all sixteen registers that AVX2 has.
///
/// The rows are far apart, each the first of a stream of rows that follow each other, as hardware fetches ahead. Past the last row
/// stands the last one, whose results are not read.
#[inline(always)]
fn tile<T: Target, E: Element, const R: usize, const M: usize>(
    target: T,
    elements: &[E],
    tokens: [&[f32]; M],
    y: &mut [f32],
) {
    let k = tokens[0].len();
    let n = elements.len() / k;
    let apart = n.div_ceil(R);
    for first in 0..apart {
        let mut rows = [&elements[..0]; R];
        for r in 0..R {
            rows[r] = &elements[(first + r * apart).min(n - 1) * k..][..k];
        }
        let partial = chains(target, rows, tokens);
        for from in (0..R * M).step_by(LANES) {
            let (mut eight, mut sums) = ([target.splat(0.0); LANES], [0.0; LANES]);
            for lane in 0..LANES.min(R * M - from) {
                eight[lane] = target.load(&partial[(from + lane) / R][(from + lane) % R]);
            }
            target.store(target.sum_float_lanes(eight), &mut sums);
            for lane in 0..LANES.min(R * M - from) {
                let (token, row) = ((from + lane) / R, first + (from + lane) % R * apart);
                if row < n {
                    y[token * n + row] = sums[lane];
                }
            }
        }
    }
}

/// The partial sums of `M` tokens and `R` rows.
#[inline(always)]
fn chains<T: Target, E: Element, const R: usize, const M: usize>(
    target: T,
    rows: [&[E]; R],
    tokens: [&[f32]; M],
) -> [[[f32; LANES]; R]; M] {
    let (w, x) = (split(rows), split(tokens));
    let mut sums = [[target.splat(0.0); R]; M];
    for b in 0..w.blocks[0].len() {
        let (w, x) = (w.blocks.map(|blocks| &blocks[b]), x.blocks.map(|blocks| &blocks[b]));
        for i in 0..BLOCK {
            step(target, w.map(|block| &block[i]), x.map(|block| &block[i]), &mut sums);
        }
    }
    for i in 0..w.eights[0].len() {
        step(target, w.eights.map(|eights| &eights[i]), x.eights.map(|eights| &eights[i]), &mut sums);
    }
    if !w.rest[0].is_empty() {
        let (mut last_w, mut last_x) = ([[0.0; LANES]; R], [[0.0; LANES]; M]);
        for r in 0..R {
            last_w[r] = padded(w.rest[r]);
        }
        for token in 0..M {
            last_x[token][..x.rest[token].len()].copy_from_slice(x.rest[token]);
        }
        step(target, last_w.each_ref(), last_x.each_ref(), &mut sums);
    }
    // In memory: if these were results in registers, some would not be in registers in the loops either.
    let mut partial = [[[0.0; LANES]; R]; M];
    for token in 0..M {
        for r in 0..R {
            target.store(sums[token][r], &mut partial[token][r]);
        }
    }
    partial
}

/// Carries the partial sums on by eight elements.
///
/// Twelve sums, three tokens and a row are all registers that there are. So that they suffice, rows are widened one after the other, and
/// each is held on to after its last use: else its register becomes that of the last sum, which is moved back.
#[inline(always)]
fn step<T: Target, E: Element, const R: usize, const M: usize>(
    target: T,
    rows: [&[E; LANES]; R],
    tokens: [&[f32; LANES]; M],
    sums: &mut [[T::F32s; R]; M],
) {
    let mut x = [target.splat(0.0); M];
    for token in 0..M {
        x[token] = target.load(tokens[token]);
    }
    for r in 0..R {
        let row = target.settled_f32(E::load(target, rows[r]));
        for token in 0..M {
            sums[token][r] = target.fma(row, x[token], sums[token][r]);
        }
        target.settled_f32(row);
    }
}

/// Fewer than eight elements, with -0 in the place of those that lack: times 0 that is -0, and adding -0 changes nothing.
#[inline(always)]
fn padded<E: Element>(rest: &[E]) -> [f32; LANES] {
    let mut lanes = [-0.0; LANES];
    for (lane, element) in lanes.iter_mut().zip(rest) {
        *lane = element.value();
    }
    lanes
}

/// Slices of one length in blocks, eights and the rest.
struct Split<'a, E, const N: usize> {
    blocks: [&'a [[[E; LANES]; BLOCK]]; N],
    eights: [&'a [[E; LANES]]; N],
    rest: [&'a [E]; N],
}

#[inline(always)]
fn split<E, const N: usize>(slices: [&[E]; N]) -> Split<'_, E, N> {
    let mut split = Split { blocks: [&[]; N], eights: [&[]; N], rest: [&[]; N] };
    for i in 0..N {
        let (eights, rest) = slices[i].as_chunks();
        let (blocks, eights) = eights.as_chunks();
        (split.blocks[i], split.eights[i], split.rest[i]) = (blocks, eights, rest);
    }
    split
}
