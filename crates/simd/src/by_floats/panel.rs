//! Panels: weights of 32 rows as floats, decoded once and run against many tokens.

use std::ops::Range;

use keepq_dot::{LANES, Target};

use super::EIGHTS;
use super::arithmetic::Arithmetic;

/// Columns of a panel: those of sixteen rows are 16 KiB, half of L1.
pub(super) const DEPTH: usize = 256;

/// Tokens of a tile: with two registers of rows, twelve chains.
const TILE: usize = 6;

/// Tokens whose sums wait while panels go by: 32 KiB. A panel is decoded once for them.
pub(super) const WAITING: usize = 256;

/// Of each column two registers of rows, so that a tile reads one stream.
pub(super) type Half = [[[f32; LANES]; 2]; DEPTH];

/// The memory that panels need, on the stack.
#[repr(align(64))]
pub(super) struct Memory {
    /// The first sixteen lanes of all columns, then the others.
    panel: [Half; 2],
    /// Of each token the lanes.
    sums: [[[f32; LANES]; EIGHTS]; WAITING],
}

impl Memory {
    pub(super) const fn new() -> Self {
        Self { panel: [[[[0.0; LANES]; 2]; DEPTH]; 2], sums: [[[0.0; LANES]; EIGHTS]; WAITING] }
    }

    /// The lanes of all `tokens`, by weights of which `decode(from, panel)` makes the columns from `from` on.
    pub(super) fn multiply<T: Target, A: Arithmetic>(
        &mut self,
        target: T,
        k: usize,
        x: &[f32],
        tokens: Range<usize>,
        mut decode: impl FnMut(Range<usize>, &mut [Half; 2]),
    ) -> &[[[f32; LANES]; EIGHTS]] {
        let Self { panel, sums } = self;
        let sums = &mut sums[..tokens.len()];
        sums.as_flattened_mut().fill([0.0; LANES]);
        for from in (0..k).step_by(DEPTH) {
            let columns = from..k.min(from + DEPTH);
            decode(columns.clone(), panel);
            for half in 0..2 {
                let panel = &panel[half][..columns.len()];
                tiles::<T, A>(target, panel, half, &x[tokens.start * k + from..], k, sums);
            }
        }
        sums
    }
}

/// Carries the sums of all tokens on by one half of a panel. Tiles are as equal as can be: small ones have too few chains.
///
/// `x` begins with the first token's activation of the panel's first column; the next token's is `k` further.
fn tiles<T: Target, A: Arithmetic>(
    target: T,
    panel: &[[[f32; LANES]; 2]],
    half: usize,
    x: &[f32],
    k: usize,
    sums: &mut [[[f32; LANES]; EIGHTS]],
) {
    let tiles = sums.len().div_ceil(TILE);
    let (size, larger) = (sums.len() / tiles, sums.len() % tiles);
    let (first, last) = sums.split_at_mut(larger * (size + 1));
    let rest = &x[(first.len() * k).min(x.len())..];
    for (size, x, sums) in [(size + 1, x, first), (size, rest, last)] {
        match size {
            1 => run::<T, A, 1>(target, panel, half, x, k, sums),
            2 => run::<T, A, 2>(target, panel, half, x, k, sums),
            3 => run::<T, A, 3>(target, panel, half, x, k, sums),
            4 => run::<T, A, 4>(target, panel, half, x, k, sums),
            5 => run::<T, A, 5>(target, panel, half, x, k, sums),
            _ => run::<T, A, TILE>(target, panel, half, x, k, sums),
        }
    }
}

/// Tiles of `M` tokens.
fn run<T: Target, A: Arithmetic, const M: usize>(
    target: T,
    panel: &[[[f32; LANES]; 2]],
    half: usize,
    x: &[f32],
    k: usize,
    sums: &mut [[[f32; LANES]; EIGHTS]],
) {
    target.run(
        #[inline(always)]
        || {
            for (i, sums) in sums.as_chunks_mut::<M>().0.iter_mut().enumerate() {
                multiply_tile::<T, A, M>(target, panel, half, &x[i * M * k..], k, sums);
            }
        },
    );
}

#[inline(always)]
fn multiply_tile<T: Target, A: Arithmetic, const M: usize>(
    target: T,
    panel: &[[[f32; LANES]; 2]],
    half: usize,
    all: &[f32],
    k: usize,
    sums: &mut [[[f32; LANES]; EIGHTS]; M],
) {
    let mut x: [&[f32]; M] = [&[]; M];
    for t in 0..M {
        x[t] = &all[t * k..][..panel.len()];
    }
    let mut acc = [[target.splat(0.0); 2]; M];
    for t in 0..M {
        acc[t] = [target.load(&sums[t][2 * half]), target.load(&sums[t][2 * half + 1])];
    }
    for (i, column) in panel.iter().enumerate() {
        let weights = [target.load(&column[0]), target.load(&column[1])];
        for t in 0..M {
            let x = target.splat(x[t][i]);
            for j in 0..2 {
                acc[t][j] = A::step(target, x, weights[j], acc[t][j]);
            }
        }
    }
    for t in 0..M {
        for j in 0..2 {
            target.store(acc[t][j], &mut sums[t][2 * half + j]);
        }
    }
}
