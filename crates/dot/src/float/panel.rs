//! Panels: weight rows that are widened once and run against many tokens.

use super::{Element, padded, split};
use crate::{LANES, Target};

/// Rows of a group. It runs against three tokens at a time: twelve accumulators, the tokens and one row are all sixteen
/// registers that AVX2 has.
pub(crate) const ROWS: usize = 4;

/// Elements of k that a panel holds of each row: those of sixteen rows are 24 KiB, which L1 holds beside three tokens.
pub(crate) const DEPTH: usize = 384;

/// Tokens whose partial sums are carried from one panel to the next: 64 KiB with sixteen rows, which L2 holds.
pub(crate) const CARRIED: usize = 128;

/// Eight lanes of each row of a group: elements of a panel, or partial sums of one token.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes([[f32; LANES]; ROWS]);

impl Lanes {
    pub(crate) const ZERO: Self = Self([[0.0; LANES]; ROWS]);
}

/// The memory of a panel.
pub(crate) struct Panel<'s> {
    /// Of each group of rows in turn all its eights.
    pub elements: &'s mut [Lanes],
    /// Of each token in turn those of all groups.
    pub sums: &'s mut [Lanes],
}

/// `y[t * n + r]`: the dots of `n` weight rows of `k` elements and all tokens.
///
/// The chain of a lane goes on from panel to panel: in the meantime its sum is in memory.
pub(crate) fn panels<T: Target, E: Element>(
    target: T,
    elements: &[E],
    (n, k): (usize, usize),
    x: &[f32],
    y: &mut [f32],
    memory: Panel<'_>,
) {
    let groups = n.div_ceil(ROWS);
    for (chunk, y) in y.chunks_mut(CARRIED * n).enumerate() {
        let m = y.len() / n;
        let x = &x[chunk * CARRIED * k..][..m * k];
        let sums = &mut memory.sums[..m * groups];
        sums.fill(Lanes::ZERO);
        for start in (0..k).step_by(DEPTH) {
            let depth = DEPTH.min(k - start);
            let panel = &mut memory.elements[..groups * depth.div_ceil(LANES)];
            target.run(
                #[inline(always)]
                || widen(target, &elements[start..], (n, k), depth, panel),
            );
            target.run(
                #[inline(always)]
                || carry(target, panel, &x[start..], (m, k), depth, sums),
            );
        }
        target.run(
            #[inline(always)]
            || finish(target, sums, n, y),
        );
    }
}

/// The first `depth` elements of `n` rows, which are `k` apart, as floats.
#[inline(always)]
fn widen<T: Target, E: Element>(target: T, elements: &[E], (n, k): (usize, usize), depth: usize, panel: &mut [Lanes]) {
    let eights = depth.div_ceil(LANES);
    for r in 0..n {
        let panel = &mut panel[r / ROWS * eights..][..eights];
        let (whole, rest) = elements[r * k..][..depth].as_chunks();
        for (eight, to) in whole.iter().zip(&mut *panel) {
            target.store(E::load(target, eight), &mut to.0[r % ROWS]);
        }
        if let [.., last] = panel
            && !rest.is_empty()
        {
            last.0[r % ROWS] = padded(rest);
        }
    }
}

/// Carries the sums of all tokens on by a panel. `x` has `m` rows, which are `k` apart.
///
/// Rows of the last group that are not there have any elements, and sums that nobody reads.
#[inline(always)]
fn carry<T: Target>(target: T, panel: &[Lanes], x: &[f32], (m, k): (usize, usize), depth: usize, sums: &mut [Lanes]) {
    let groups = sums.len() / m;
    let token = |t: usize| &x[t * k..][..depth];
    let mut t = 0;
    while t < m {
        let sums = &mut sums[t * groups..];
        // One token alone has too few chains: four are two and two.
        t += match m - t {
            1 => tile(target, panel, [token(t)], groups, sums),
            2 | 4 => tile(target, panel, [token(t), token(t + 1)], groups, sums),
            _ => tile(target, panel, [token(t), token(t + 1), token(t + 2)], groups, sums),
        };
    }
}

/// [`carry`] of the first `M` tokens, which are given back as their number.
#[inline(always)]
fn tile<T: Target, const M: usize>(
    target: T,
    panel: &[Lanes],
    tokens: [&[f32]; M],
    groups: usize,
    sums: &mut [Lanes],
) -> usize {
    let (x, rest) = split(tokens);
    let mut last = [[0.0; LANES]; M];
    for (last, rest) in last.iter_mut().zip(rest) {
        last[..rest.len()].copy_from_slice(rest);
    }
    for (g, panel) in panel.chunks_exact(panel.len() / groups).enumerate() {
        let mut chains = [[target.splat(0.0); ROWS]; M];
        for token in 0..M {
            for r in 0..ROWS {
                chains[token][r] = target.load(&sums[token * groups + g].0[r]);
            }
        }
        let (whole, padded) = panel.split_at(x[0].len());
        for i in 0..whole.len() {
            let mut lanes = [target.splat(0.0); M];
            for token in 0..M {
                lanes[token] = target.load(&x[token][i]);
            }
            chains = step(target, &whole[i], lanes, chains);
        }
        if let [padded] = padded {
            chains = step(target, padded, last.map(|last| target.load(&last)), chains);
        }
        for token in 0..M {
            for r in 0..ROWS {
                target.store(chains[token][r], &mut sums[token * groups + g].0[r]);
            }
        }
    }
    M
}

/// One step of each chain.
#[inline(always)]
fn step<T: Target, const M: usize>(
    target: T,
    rows: &Lanes,
    x: [T::F32s; M],
    mut chains: [[T::F32s; ROWS]; M],
) -> [[T::F32s; ROWS]; M] {
    for r in 0..ROWS {
        let row = target.load(&rows.0[r]);
        for token in 0..M {
            chains[token][r] = target.fma(row, x[token], chains[token][r]);
        }
    }
    chains
}

/// Adds up the partial sums of all tokens by `n` rows.
#[inline(always)]
fn finish<T: Target>(target: T, sums: &[Lanes], n: usize, y: &mut [f32]) {
    let groups = n.div_ceil(ROWS);
    for (sums, y) in sums.chunks_exact(groups).zip(y.chunks_exact_mut(n)) {
        for (pair, y) in sums.chunks(2).zip(y.chunks_mut(2 * ROWS)) {
            let mut eight = [target.splat(0.0); LANES];
            for (lanes, sum) in eight.iter_mut().zip(pair.iter().flat_map(|group| &group.0)) {
                *lanes = target.load(sum);
            }
            let mut dots = [0.0; LANES];
            target.store(target.sum_float_lanes(eight), &mut dots);
            y.copy_from_slice(&dots[..y.len()]);
        }
    }
}
