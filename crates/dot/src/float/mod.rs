//! Float weights (F32, F16, BF16) by f32 activations: eight partial sums, one fused step each.

mod panel;

use keepq_blocks::{Bf16, BlockF32, F16};

pub(crate) use panel::{CARRIED, DEPTH, Lanes, Panel, ROWS, panels};

use crate::{LANES, Target};

/// Bytes of a cache line.
const LINE: usize = 64;

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
    let [[chain]] = chains(target, [&row[..k]], [&x[..k]]);
    let mut partial = [0.0; LANES];
    target.store(chain, &mut partial);
    reduce(partial)
}

/// The sum of the eight partial sums, in the one order.
#[inline(always)]
pub(crate) fn reduce(p: [f32; 8]) -> f32 {
    ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}

/// `y[t * n + r]`: the dots of `n` weight rows and `M` tokens, the rows where they lie, `R` at a time.
///
/// `R * M` are eight chains: a fused step takes four cycles, and two can start in each.
#[inline(always)]
pub(crate) fn in_place<T: Target, E: Element, const R: usize, const M: usize>(
    target: T,
    elements: &[E],
    n: usize,
    tokens: [&[f32]; M],
    y: &mut [f32],
) {
    const { assert!(R * M == LANES) }
    let k = tokens[0].len();
    let row = |r: usize| &elements[r * k..(r + 1) * k];
    let mut first = 0;
    while first + R <= n {
        let mut rows = [&elements[..0]; R];
        for r in 0..R {
            rows[r] = row(first + r);
        }
        let chains = chains(target, rows, tokens);
        let (mut eight, mut sums) = ([target.splat(0.0); LANES], [0.0; LANES]);
        for token in 0..M {
            for r in 0..R {
                eight[token * R + r] = chains[token][r];
            }
        }
        target.store(target.sum_float_lanes(eight), &mut sums);
        for token in 0..M {
            y[token * n + first..][..R].copy_from_slice(&sums[token * R..][..R]);
        }
        first += R;
    }
    for r in first..n {
        for token in 0..M {
            y[token * n + r] = dot_float(target, row(r), tokens[token]);
        }
    }
}

/// The partial sums of `R` rows and `M` tokens.
#[inline(always)]
fn chains<T: Target, E: Element, const R: usize, const M: usize>(
    target: T,
    rows: [&[E]; R],
    tokens: [&[f32]; M],
) -> [[T::F32s; R]; M] {
    let ((w, w_rest), (x, x_rest)) = (split(rows), split(tokens));
    let mut sums = [[target.splat(0.0); R]; M];
    // The next rows follow these.
    let ahead = rows[R - 1].as_ptr_range().end.cast::<u8>();
    let step = R * size_of::<[E; LANES]>();
    for i in 0..w[0].len() {
        for line in (0..step).step_by(LINE) {
            target.prefetch(ahead.wrapping_add(i * step + line));
        }
        let mut lanes = [target.splat(0.0); M];
        for token in 0..M {
            lanes[token] = target.load(&x[token][i]);
        }
        for r in 0..R {
            let row = E::load(target, &w[r][i]);
            for token in 0..M {
                sums[token][r] = target.fma(row, lanes[token], sums[token][r]);
            }
        }
    }
    if !w_rest[0].is_empty() {
        for r in 0..R {
            let row = target.load(&padded(w_rest[r]));
            for token in 0..M {
                let mut lanes = [0.0; LANES];
                lanes[..x_rest[token].len()].copy_from_slice(x_rest[token]);
                sums[token][r] = target.fma(row, target.load(&lanes), sums[token][r]);
            }
        }
    }
    sums
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

/// Each of the slices in eights, and the rest of each.
#[inline(always)]
fn split<E, const N: usize>(slices: [&[E]; N]) -> ([&[[E; LANES]]; N], [&[E]; N]) {
    let (mut eights, mut rests) = ([&[][..]; N], [&[][..]; N]);
    for i in 0..N {
        (eights[i], rests[i]) = slices[i].as_chunks();
    }
    let least = eights.iter().map(|eights| eights.len()).min().unwrap_or(0);
    for eights in &mut eights {
        *eights = &eights[..least];
    }
    (eights, rests)
}
