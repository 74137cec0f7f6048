//! Float weights (F32, F16, BF16) by f32 activations: eight partial sums, one fused step each.

use keepq_blocks::{Bf16, BlockF32, F16};

use crate::{LANES, Target};

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
    tile(target, [&row[..k]], [&x[..k]])[0][0]
}

/// The sum of the eight partial sums, in the one order.
#[inline(always)]
pub(crate) fn reduce(p: [f32; 8]) -> f32 {
    ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}

/// `acc[t * n + r]`: the dots of `n` weight rows of `k` elements and all tokens.
///
/// Four rows by two tokens at a time: eight independent chains, as a fused step takes four cycles and two can start
/// in each.
#[inline(always)]
pub(crate) fn product<T: Target, E: Element>(
    target: T,
    elements: &[E],
    n: usize,
    k: usize,
    x: &[f32],
    acc: &mut [f32],
) {
    let row = |r: usize| &elements[r * k..(r + 1) * k];
    let token = |t: usize| &x[t * k..(t + 1) * k];
    let m = acc.len() / n;
    let mut t = 0;
    while t < m {
        let pair = t + 1 < m;
        let mut r = 0;
        while r < n {
            if r + 4 <= n {
                let rows = [row(r), row(r + 1), row(r + 2), row(r + 3)];
                if pair {
                    let sums = tile(target, rows, [token(t), token(t + 1)]);
                    acc[t * n + r..][..4].copy_from_slice(&sums[0]);
                    acc[(t + 1) * n + r..][..4].copy_from_slice(&sums[1]);
                } else {
                    acc[t * n + r..][..4].copy_from_slice(&tile(target, rows, [token(t)])[0]);
                }
                r += 4;
            } else {
                acc[t * n + r] = dot_float(target, row(r), token(t));
                if pair {
                    acc[(t + 1) * n + r] = dot_float(target, row(r), token(t + 1));
                }
                r += 1;
            }
        }
        t += if pair { 2 } else { 1 };
    }
}

/// The dots of `R` rows and `M` tokens.
#[inline(always)]
fn tile<T: Target, E: Element, const R: usize, const M: usize>(
    target: T,
    rows: [&[E]; R],
    tokens: [&[f32]; M],
) -> [[f32; R]; M] {
    let (w, w_rest) = split(rows);
    let (x, x_rest) = split(tokens);
    let mut sums = [[target.splat(0.0); R]; M];
    for i in 0..w[0].len() {
        let mut lanes = [target.splat(0.0); R];
        for r in 0..R {
            lanes[r] = E::load(target, &w[r][i]);
        }
        for token in 0..M {
            let x = target.load(&x[token][i]);
            for r in 0..R {
                sums[token][r] = target.fma(lanes[r], x, sums[token][r]);
            }
        }
    }
    let mut dots = [[0.0; R]; M];
    for token in 0..M {
        for r in 0..R {
            let mut partial = [0.0; LANES];
            target.store(sums[token][r], &mut partial);
            // The elements past the last whole eight go to the first lanes.
            let rest = w_rest[r].len();
            if rest > 0 {
                let (mut w, mut x, mut updated) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for i in 0..rest {
                    (w[i], x[i]) = (w_rest[r][i].value(), x_rest[token][i]);
                }
                target.store(target.fma(target.load(&w), target.load(&x), sums[token][r]), &mut updated);
                partial[..rest].copy_from_slice(&updated[..rest]);
            }
            dots[token][r] = reduce(partial);
        }
    }
    dots
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

/// The values of all elements.
#[inline(always)]
pub(crate) fn widen<T: Target, E: Element>(target: T, elements: &[E], values: &mut [f32]) {
    let ((eights, rest), (to, to_rest)) = (elements.as_chunks(), values.as_chunks_mut());
    for (eight, to) in eights.iter().zip(to) {
        target.store(E::load(target, eight), to);
    }
    for (element, to) in rest.iter().zip(to_rest) {
        *to = element.value();
    }
}
