//! W4A16: codes of int4pack where they lie, or panels of them as floats, by float activations.
//!
//! A lane is a row, so that each output is one chain whatever is computed beside it. Layouts differ in where columns lie
//! ([`Slab`]) and in their arithmetic ([`Arithmetic`]); the body is one.

use std::ops::Range;

use keepq_dot::{LANES, Target};
use keepq_tinygemm::w4a16::{Layout, SLAB_ROWS, Slab, Weights};

/// Registers of a slab's rows.
const EIGHTS: usize = SLAB_ROWS / LANES;

/// Tokens that go by codes where they lie at once: twelve chains, beside a scale and a zero for each register of rows.
const DIRECT_TOKENS: usize = 3;

/// Tokens of a tile of two registers of a panel: twelve chains.
const TILE_TOKENS: usize = 6;

/// Columns of a panel: 16 KiB, half of L1.
const PANEL: usize = 128;

/// Tokens whose sums wait on the stack while panels go by: 12 KiB. A panel is decoded once for them.
const WAITING: usize = 16 * TILE_TOKENS;

/// How a layout rounds: see [`Layout::weight`] and [`Layout::step`].
trait Arithmetic {
    /// What is added to products of codes and scales, once a group.
    fn offset<T: Target>(target: T, scale: T::F32s, zero: T::F32s) -> T::F32s;

    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s;

    fn step<T: Target>(target: T, x: T::F32s, weight: T::F32s, sum: T::F32s) -> T::F32s;
}

struct Avx512;

impl Arithmetic for Avx512 {
    #[inline(always)]
    fn offset<T: Target>(_: T, _: T::F32s, zero: T::F32s) -> T::F32s {
        zero
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.fma(target.add(code, target.splat(-8.0)), scale, offset)
    }

    #[inline(always)]
    fn step<T: Target>(target: T, x: T::F32s, weight: T::F32s, sum: T::F32s) -> T::F32s {
        target.fma(x, weight, sum)
    }
}

struct Avx2;

impl Arithmetic for Avx2 {
    #[inline(always)]
    fn offset<T: Target>(target: T, scale: T::F32s, zero: T::F32s) -> T::F32s {
        target.fma(scale, target.splat(-8.0), zero)
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.fma(code, scale, offset)
    }

    #[inline(always)]
    fn step<T: Target>(target: T, x: T::F32s, weight: T::F32s, sum: T::F32s) -> T::F32s {
        target.fma(x, weight, sum)
    }
}

struct Scalar;

impl Arithmetic for Scalar {
    #[inline(always)]
    fn offset<T: Target>(_: T, _: T::F32s, zero: T::F32s) -> T::F32s {
        zero
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.add(target.mul(target.add(code, target.splat(-8.0)), scale), offset)
    }

    #[inline(always)]
    fn step<T: Target>(target: T, x: T::F32s, weight: T::F32s, sum: T::F32s) -> T::F32s {
        target.add(sum, target.mul(x, weight))
    }
}

/// A strip's place in the matrix, and its activations and results.
struct Strip<'a> {
    w: Weights<'a>,
    rows: Range<usize>,
    x: &'a [f32],
    y: &'a mut [f32],
}

/// See [`Tier::w4a16_strip`](crate::Tier::w4a16_strip).
pub(crate) fn strip<T: Target>(
    target: T,
    w: Weights<'_>,
    rows: Range<usize>,
    x: &[f32],
    y: &mut [f32],
    dequant_threshold: usize,
) {
    let (n, k) = (rows.len(), w.packed().k());
    assert!(x.len() * n == y.len() * k, "x of {} and y of {} for {n} rows of {k}", x.len(), y.len());
    if y.is_empty() || k == 0 {
        return y.fill(0.0);
    }
    let layout = w.packed().layout();
    let strip = Strip { w, rows, x, y };
    match layout {
        Layout::Avx512 => strip.multiply::<T, Avx512>(target, dequant_threshold),
        Layout::Avx2 => strip.multiply::<T, Avx2>(target, dequant_threshold),
        Layout::Scalar => strip.multiply::<T, Scalar>(target, dequant_threshold),
    }
}

impl Strip<'_> {
    fn multiply<T: Target, A: Arithmetic>(mut self, target: T, dequant_threshold: usize) {
        let m = self.x.len() / self.w.packed().k();
        let whole = if m >= dequant_threshold { m / TILE_TOKENS * TILE_TOKENS } else { 0 };
        for slab in self.w.packed().slabs(self.rows.start, self.rows.end) {
            if slab.is_whole() {
                self.by_slab::<T, A, true>(target, &slab, m, whole);
            } else {
                self.by_slab::<T, A, false>(target, &slab, m, whole);
            }
        }
    }

    /// The first `whole` tokens by panels, the others by the codes where they lie.
    fn by_slab<T: Target, A: Arithmetic, const WHOLE: bool>(
        &mut self,
        target: T,
        slab: &Slab<'_>,
        m: usize,
        whole: usize,
    ) {
        for first in (0..whole).step_by(WAITING) {
            let tokens = first..whole.min(first + WAITING);
            target.run(
                #[inline(always)]
                || self.panels::<T, A, WHOLE>(target, slab, tokens.clone()),
            );
        }
        for first in (whole..m).step_by(DIRECT_TOKENS) {
            match m - first {
                1 => target.run(
                    #[inline(always)]
                    || self.direct::<T, A, WHOLE, 1>(target, slab, first),
                ),
                2 => target.run(
                    #[inline(always)]
                    || self.direct::<T, A, WHOLE, 2>(target, slab, first),
                ),
                _ => target.run(
                    #[inline(always)]
                    || self.direct::<T, A, WHOLE, DIRECT_TOKENS>(target, slab, first),
                ),
            }
        }
    }

    /// A few tokens by the codes of a slab where they lie.
    #[inline(always)]
    fn direct<T: Target, A: Arithmetic, const WHOLE: bool, const TOKENS: usize>(
        &mut self,
        target: T,
        slab: &Slab<'_>,
        first: usize,
    ) {
        let (k, group) = (self.w.packed().k(), self.w.group());
        let mut x: [&[f32]; TOKENS] = [&[]; TOKENS];
        for t in 0..TOKENS {
            x[t] = &self.x[(first + t) * k..][..k];
        }
        let mut sums = [[target.splat(0.0); EIGHTS]; TOKENS];
        for g in 0..k / group {
            let (scales, offsets) = self.scales::<T, A>(target, slab, g);
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
            self.put(slab, first + t, &lanes);
        }
    }

    /// Tokens, tile by tile, by panels of the weights of a slab.
    #[inline(always)]
    fn panels<T: Target, A: Arithmetic, const WHOLE: bool>(
        &mut self,
        target: T,
        slab: &Slab<'_>,
        tokens: Range<usize>,
    ) {
        let k = self.w.packed().k();
        let mut panel = [[[0.0; LANES]; EIGHTS]; PANEL];
        let mut waiting = [[[0.0; LANES]; EIGHTS]; WAITING];
        for from in (0..k).step_by(PANEL) {
            let panel = &mut panel[..PANEL.min(k - from)];
            self.decode::<T, A, WHOLE>(target, slab, from, panel);
            for (tile, sums) in
                waiting.as_chunks_mut::<TILE_TOKENS>().0.iter_mut().take(tokens.len() / TILE_TOKENS).enumerate()
            {
                let mut x: [&[f32]; TILE_TOKENS] = [&[]; TILE_TOKENS];
                for t in 0..TILE_TOKENS {
                    x[t] = &self.x[(tokens.start + tile * TILE_TOKENS + t) * k + from..][..panel.len()];
                }
                for e in (0..EIGHTS).step_by(2) {
                    multiply_tile::<T, A>(target, panel, e, x, sums);
                }
            }
        }
        for (t, lanes) in tokens.zip(&waiting) {
            self.put(slab, t, lanes);
        }
    }

    /// The weights of columns `from` and on.
    #[inline(always)]
    fn decode<T: Target, A: Arithmetic, const WHOLE: bool>(
        &self,
        target: T,
        slab: &Slab<'_>,
        from: usize,
        panel: &mut [[[f32; LANES]; EIGHTS]],
    ) {
        let group = self.w.group();
        // Groups of 256 are larger than a panel.
        let piece = group.min(PANEL);
        for (p, columns) in panel.chunks_mut(piece).enumerate() {
            let from = from + p * piece;
            let (scales, offsets) = self.scales::<T, A>(target, slab, from / group);
            for (i, column) in columns.iter_mut().enumerate() {
                let codes = target.widen_nibbles(slab.column::<WHOLE>(from + i));
                for e in 0..EIGHTS {
                    target.store(A::weight(target, codes[e], scales[e], offsets[e]), &mut column[e]);
                }
            }
        }
    }

    /// The scales and offsets of group `g` of a slab's rows.
    #[inline(always)]
    fn scales<T: Target, A: Arithmetic>(
        &self,
        target: T,
        slab: &Slab<'_>,
        g: usize,
    ) -> ([T::F32s; EIGHTS], [T::F32s; EIGHTS]) {
        let n = self.w.packed().n();
        let of_group = &self.w.scales()[g * n..][..n];
        let (mut scales, mut zeros) = ([[0.0; LANES]; EIGHTS], [[0.0; LANES]; EIGHTS]);
        for (lane, row) in slab.rows() {
            let [scale, zero] = of_group[row];
            (scales[lane / LANES][lane % LANES], zeros[lane / LANES][lane % LANES]) =
                (widen(scale.to_bits()), widen(zero.to_bits()));
        }
        let (mut wide, mut offsets) = ([target.splat(0.0); EIGHTS], [target.splat(0.0); EIGHTS]);
        for e in 0..EIGHTS {
            wide[e] = target.load(&scales[e]);
            offsets[e] = A::offset(target, wide[e], target.load(&zeros[e]));
        }
        (wide, offsets)
    }

    /// Writes the results of token `t`.
    #[inline(always)]
    fn put(&mut self, slab: &Slab<'_>, t: usize, lanes: &[[f32; LANES]; EIGHTS]) {
        let y = &mut self.y[t * self.rows.len()..][..self.rows.len()];
        for (lane, row) in slab.rows() {
            y[row - self.rows.start] = lanes[lane / LANES][lane % LANES];
        }
    }
}

/// Six tokens by two registers of rows.
#[inline(always)]
fn multiply_tile<T: Target, A: Arithmetic>(
    target: T,
    panel: &[[[f32; LANES]; EIGHTS]],
    e: usize,
    x: [&[f32]; TILE_TOKENS],
    sums: &mut [[[f32; LANES]; EIGHTS]; TILE_TOKENS],
) {
    let mut acc = [[target.splat(0.0); 2]; TILE_TOKENS];
    for t in 0..TILE_TOKENS {
        acc[t] = [target.load(&sums[t][e]), target.load(&sums[t][e + 1])];
    }
    for (i, column) in panel.iter().enumerate() {
        let weights = [target.load(&column[e]), target.load(&column[e + 1])];
        for t in 0..TILE_TOKENS {
            let x = target.splat(x[t][i]);
            for j in 0..2 {
                acc[t][j] = A::step(target, x, weights[j], acc[t][j]);
            }
        }
    }
    for t in 0..TILE_TOKENS {
        for j in 0..2 {
            target.store(acc[t][j], &mut sums[t][e + j]);
        }
    }
}

/// A bf16 number as a float. A NaN keeps its bits.
#[inline(always)]
fn widen(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}
