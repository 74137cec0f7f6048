//! 4-bit weights by float activations: W4A16 in every layout and row by row, and the fallback.
//!
//! A lane is a row, so that each output is one chain whatever is computed beside it. Formats differ in where columns lie
//! ([`Slab`]), in where the scales of rows lie ([`SlabWeights`]) and in their arithmetic ([`Arithmetic`]); the bodies are one: a few tokens go by
//! codes where they lie, many by panels of floats.

mod arithmetic;
mod groups;
mod panel;
mod row_major;

use std::ops::Range;

use keepq_dot::{LANES, Target};
use keepq_tinygemm::w4a16::{self, Layout, RowMajor};
use keepq_tinygemm::{SLAB_ROWS, Slab, wna16};

use arithmetic::{Arithmetic, Avx2, Avx512, Fallback, Scalar};
use groups::{SlabWeights, scales};
use panel::{DEPTH, Half, Memory, WAITING};

/// Registers of a slab's rows.
const EIGHTS: usize = SLAB_ROWS / LANES;

/// Tokens that go by codes where they lie at once: twelve chains, beside a scale and an offset for each register of rows.
const DIRECT_TOKENS: usize = 3;

/// See [`Tier::w4a16_strip`](crate::Tier::w4a16_strip).
pub(crate) fn w4a16<T: Target>(
    target: T,
    w: w4a16::Weights<'_>,
    rows: Range<usize>,
    x: &[f32],
    y: &mut [f32],
    dequant_threshold: usize,
) {
    match w.packed().layout() {
        Layout::Avx512 => strip::<T, Avx512>(target, w, rows, x, y, dequant_threshold),
        Layout::Avx2 => strip::<T, Avx2>(target, w, rows, x, y, dequant_threshold),
        Layout::Scalar => strip::<T, Scalar>(target, w, rows, x, y, dequant_threshold),
    }
}

/// See [`Tier::wna16_strip`](crate::Tier::wna16_strip).
pub(crate) fn wna16<T: Target>(target: T, w: wna16::Weights<'_>, rows: Range<usize>, x: &[f32], y: &mut [f32]) {
    strip::<T, Fallback>(target, w, rows, x, y, crate::Tier::DEQUANT_THRESHOLD);
}

/// See [`Tier::w4a16_row_major_strip`](crate::Tier::w4a16_row_major_strip).
pub(crate) fn row_major<T: Target>(
    target: T,
    arithmetic: Layout,
    w: RowMajor<'_>,
    rows: Range<usize>,
    x: &[f32],
    y: &mut [f32],
) {
    assert!(rows.start <= rows.end && rows.end <= w.n(), "rows {rows:?} of {}", w.n());
    let Some(strip) = Strip::new(w.k(), rows, x, y) else { return };
    match arithmetic {
        Layout::Avx512 => row_major::multiply::<T, Avx512>(target, w, strip),
        Layout::Avx2 => row_major::multiply::<T, Avx2>(target, w, strip),
        Layout::Scalar => row_major::multiply::<T, Scalar>(target, w, strip),
    }
}

/// A strip's place in the matrix, and its activations and results.
struct Strip<'a> {
    k: usize,
    rows: Range<usize>,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl<'a> Strip<'a> {
    /// `None` where there is nothing to multiply, and `y` is complete.
    fn new(k: usize, rows: Range<usize>, x: &'a [f32], y: &'a mut [f32]) -> Option<Self> {
        let n = rows.len();
        assert!(x.len() * n == y.len() * k, "x of {} and y of {} for {n} rows of {k}", x.len(), y.len());
        if y.is_empty() || k == 0 {
            y.fill(0.0);
            return None;
        }
        Some(Self { k, rows, x, y })
    }

    fn m(&self) -> usize {
        self.x.len() / self.k
    }

    /// All tokens by panels of the weights of some rows, which `decode` makes.
    fn panels<T: Target, A: Arithmetic>(
        &mut self,
        target: T,
        memory: &mut Memory,
        rows: impl Iterator<Item = (usize, usize)> + Clone,
        mut decode: impl FnMut(Range<usize>, &mut [Half; 2]),
    ) {
        for first in (0..self.m()).step_by(WAITING) {
            let tokens = first..self.m().min(first + WAITING);
            let sums = memory.multiply::<T, A>(target, self.k, self.x, tokens.clone(), &mut decode);
            for (t, lanes) in tokens.zip(sums) {
                self.put(rows.clone(), t, lanes);
            }
        }
    }

    /// Writes the results of token `t`, of the rows that the lanes stand for.
    #[inline(always)]
    fn put(&mut self, rows: impl Iterator<Item = (usize, usize)>, t: usize, lanes: &[[f32; LANES]; EIGHTS]) {
        let y = &mut self.y[t * self.rows.len()..][..self.rows.len()];
        for (lane, row) in rows {
            y[row - self.rows.start] = lanes[lane / LANES][lane % LANES];
        }
    }
}

fn strip<'a, T: Target, A: Arithmetic>(
    target: T,
    w: impl SlabWeights<'a>,
    rows: Range<usize>,
    x: &[f32],
    y: &mut [f32],
    dequant_threshold: usize,
) {
    let slabs = w.slabs(rows.clone());
    let Some(mut strip) = Strip::new(w.k(), rows, x, y) else { return };
    if strip.m() < dequant_threshold {
        for slab in slabs {
            if slab.is_whole() {
                direct::<T, A, true>(target, w, &slab, &mut strip);
            } else {
                direct::<T, A, false>(target, w, &slab, &mut strip);
            }
        }
        return;
    }
    let mut memory = Memory::new();
    for slab in slabs {
        strip.panels::<T, A>(target, &mut memory, slab.rows(), |columns, panel| {
            if slab.is_whole() {
                target.run(
                    #[inline(always)]
                    || decode::<T, A, true>(target, w, &slab, columns.clone(), panel),
                );
            } else {
                target.run(
                    #[inline(always)]
                    || decode::<T, A, false>(target, w, &slab, columns.clone(), panel),
                );
            }
        });
    }
}

/// The weights of some columns of a slab.
#[inline(always)]
fn decode<'a, T: Target, A: Arithmetic, const WHOLE: bool>(
    target: T,
    w: impl SlabWeights<'a>,
    slab: &Slab<'_>,
    columns: Range<usize>,
    panel: &mut [Half; 2],
) {
    let group = w.group();
    let [first, last] = panel;
    // Groups are divisors of a panel's columns.
    for from in columns.clone().step_by(group) {
        let [scales, offsets] = scales::<T, A>(target, w, slab, from / group);
        let at = from - columns.start;
        for (i, (first, last)) in first[at..][..group].iter_mut().zip(&mut last[at..][..group]).enumerate() {
            let codes = target.widen_nibbles(slab.column::<WHOLE>(from + i));
            for e in 0..2 {
                target.store(A::weight(target, codes[e], scales[e], offsets[e]), &mut first[e]);
                target.store(A::weight(target, codes[2 + e], scales[2 + e], offsets[2 + e]), &mut last[e]);
            }
        }
    }
}

/// All tokens, a few at a time, by the codes of a slab where they lie.
fn direct<'a, T: Target, A: Arithmetic, const WHOLE: bool>(
    target: T,
    w: impl SlabWeights<'a>,
    slab: &Slab<'_>,
    strip: &mut Strip<'_>,
) {
    for first in (0..strip.m()).step_by(DIRECT_TOKENS) {
        match strip.m() - first {
            1 => target.run(
                #[inline(always)]
                || direct_tokens::<T, A, WHOLE, 1>(target, w, slab, strip, first),
            ),
            2 => target.run(
                #[inline(always)]
                || direct_tokens::<T, A, WHOLE, 2>(target, w, slab, strip, first),
            ),
            _ => target.run(
                #[inline(always)]
                || direct_tokens::<T, A, WHOLE, DIRECT_TOKENS>(target, w, slab, strip, first),
            ),
        }
    }
}

#[inline(always)]
fn direct_tokens<'a, T: Target, A: Arithmetic, const WHOLE: bool, const TOKENS: usize>(
    target: T,
    w: impl SlabWeights<'a>,
    slab: &Slab<'_>,
    strip: &mut Strip<'_>,
    first: usize,
) {
    let (k, group) = (strip.k, w.group());
    let mut x: [&[f32]; TOKENS] = [&[]; TOKENS];
    for t in 0..TOKENS {
        x[t] = &strip.x[(first + t) * k..][..k];
    }
    let mut sums = [[target.splat(0.0); EIGHTS]; TOKENS];
    for g in 0..k / group {
        let [scales, offsets] = scales::<T, A>(target, w, slab, g);
        for i in g * group..(g + 1) * group {
            let codes = target.widen_nibbles(slab.column::<WHOLE>(i));
            for e in 0..EIGHTS {
                let weight = A::weight(target, codes[e], scales[e], offsets[e]);
                for t in 0..TOKENS {
                    sums[t][e] = A::step(target, target.splat(x[t][i]), weight, sums[t][e]);
                }
            }
        }
    }
    for t in 0..TOKENS {
        let mut lanes = [[0.0; LANES]; EIGHTS];
        for e in 0..EIGHTS {
            target.store(sums[t][e], &mut lanes[e]);
        }
        strip.put(slab.rows(), first + t, &lanes);
    }
}

const _: () = assert!(DEPTH.is_multiple_of(256), "the longest group");
