//! Quantized weights by int8 activations: one body for all types of blocks of 32.

use keepq_act::Q8_0Rows;
use keepq_blocks::Block;

use crate::scratch::CodeLine;

/// What a kernel needs to know of a block of 32.
pub trait Quantized: Block {
    /// Whether [`min`](Self::min) counts.
    const HAS_MIN: bool;

    /// The codes in the order of k, with their bias removed.
    fn codes(&self) -> [i8; 32];
    /// The scale `d` of `w = d * q + m`.
    fn scale(&self) -> f32;
    /// The minimum `m` of `w = d * q + m`; 0 where the type has none.
    fn min(&self) -> f32;
}

/// One step of the chain that defines a dot (docs/NUMERICS.md): what a block adds to the sum of those before it.
#[inline(always)]
fn step<B: Quantized>(acc: f32, (scale, min): (f32, f32), isum: i32, (x_scale, x_sum): (f32, i32)) -> f32 {
    let acc = acc + (scale * x_scale) * isum as f32;
    if B::HAS_MIN { acc + (min * x_scale) * x_sum as f32 } else { acc }
}

/// The dot of one weight row and one token, in place: the definition.
///
/// `row` and the three slices of `x` have the same number of blocks (the shorter counts).
#[inline(always)]
#[must_use]
pub fn dot_quantized<B: Quantized>(row: &[B], x: Q8_0Rows<'_>) -> f32 {
    let mut acc = 0.0;
    for (((block, codes), &scale), &sum) in row.iter().zip(x.codes).zip(x.scales).zip(x.sums) {
        let isum = dot_i8(&block.codes(), codes);
        acc = step::<B>(acc, (block.scale(), block.min()), isum, (scale, sum));
    }
    acc
}

/// `acc[t * n + r]`: the dots of `n` weight rows and all tokens, from rows that were decoded once.
///
/// Codes are held as i16: on the baseline instruction set widening is what costs, 35 against 21 GOP/s.
#[inline(always)]
pub(crate) fn panel<B: Quantized>(blocks: &[B], n: usize, x: Q8_0Rows<'_>, acc: &mut [f32], scratch: Panel<'_>) {
    let Panel { codes, scales, token } = scratch;
    let row_blocks = token.len();
    for ((block, line), pair) in blocks.iter().zip(&mut *codes).zip(&mut *scales) {
        line.0 = block.codes().map(i16::from);
        *pair = (block.scale(), block.min());
    }
    let rows = || codes.chunks_exact(row_blocks).zip(scales.chunks_exact(row_blocks));
    for (t, acc) in acc.chunks_exact_mut(n).enumerate() {
        let x = x.blocks(t * row_blocks..(t + 1) * row_blocks);
        for (line, codes) in token.iter_mut().zip(x.codes) {
            line.0 = codes.map(i16::from);
        }
        for ((codes, scales), out) in rows().zip(acc) {
            let mut sum = 0.0;
            let blocks = codes.iter().zip(scales).zip(&*token).zip(x.scales).zip(x.sums);
            for ((((w, &w_scales), x), &x_scale), &x_sum) in blocks {
                sum = step::<B>(sum, w_scales, dot_i16(&w.0, &x.0), (x_scale, x_sum));
            }
            *out = sum;
        }
    }
}

/// The parts of the scratch that [`panel`] uses.
pub(crate) struct Panel<'s> {
    /// A line a block of weights.
    pub codes: &'s mut [CodeLine],
    /// Scale and minimum of each block of weights.
    pub scales: &'s mut [(f32, f32)],
    /// A line a block of the token at hand.
    pub token: &'s mut [CodeLine],
}

/// Exact: 32 products of at most 128 * 127.
#[inline(always)]
fn dot_i8(a: &[i8; 32], b: &[i8; 32]) -> i32 {
    let mut sum = 0;
    for i in 0..32 {
        sum += i32::from(a[i]) * i32::from(b[i]);
    }
    sum
}

/// The same of codes already widened.
#[inline(always)]
fn dot_i16(a: &[i16; 32], b: &[i16; 32]) -> i32 {
    let mut sum = 0;
    for i in 0..32 {
        sum += i32::from(a[i]) * i32::from(b[i]);
    }
    sum
}
