//! Float weights (F32, F16, BF16) by f32 activations: eight partial sums, one fused step each.

use keepq_blocks::{Bf16, BlockF32, F16};

use crate::Fused;

/// An element of a row of float weights.
pub trait Element: Copy {
    /// Its value.
    fn value(self) -> f32;
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
pub fn dot_float<F: Fused, E: Element>(row: &[E], x: &[f32]) -> f32 {
    tile::<F, E, 1, 1>([row], [x])[0][0]
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
pub(crate) fn product<F: Fused, E: Element>(elements: &[E], n: usize, k: usize, x: &[f32], acc: &mut [f32]) {
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
                    let sums = tile::<F, E, 4, 2>(rows, [token(t), token(t + 1)]);
                    acc[t * n + r..][..4].copy_from_slice(&sums[0]);
                    acc[(t + 1) * n + r..][..4].copy_from_slice(&sums[1]);
                } else {
                    acc[t * n + r..][..4].copy_from_slice(&tile::<F, E, 4, 1>(rows, [token(t)])[0]);
                }
                r += 4;
            } else {
                acc[t * n + r] = dot_float::<F, E>(row(r), token(t));
                if pair {
                    acc[(t + 1) * n + r] = dot_float::<F, E>(row(r), token(t + 1));
                }
                r += 1;
            }
        }
        t += if pair { 2 } else { 1 };
    }
}

/// The dots of `R` rows and `T` tokens.
#[inline(always)]
fn tile<F: Fused, E: Element, const R: usize, const T: usize>(rows: [&[E]; R], tokens: [&[f32]; T]) -> [[f32; R]; T] {
    let k = rows[0].len().min(tokens[0].len());
    let rows = rows.map(|row| &row[..k]);
    let tokens = tokens.map(|token| &token[..k]);
    let mut partial = [[[0.0_f32; 8]; R]; T];
    let whole = k / 8 * 8;
    for i in (0..whole).step_by(8) {
        let w: [[f32; 8]; R] = rows.map(|row| core::array::from_fn(|lane| row[i..i + 8][lane].value()));
        for (token, sums) in tokens.iter().zip(&mut partial) {
            let x: &[f32] = &token[i..i + 8];
            for (w, sum) in w.iter().zip(sums) {
                for lane in 0..8 {
                    sum[lane] = F::fma(w[lane], x[lane], sum[lane]);
                }
            }
        }
    }
    for i in whole..k {
        for (token, sums) in tokens.iter().zip(&mut partial) {
            for (row, sum) in rows.iter().zip(sums) {
                sum[i % 8] = F::fma(row[i].value(), token[i], sum[i % 8]);
            }
        }
    }
    partial.map(|sums| sums.map(reduce))
}
