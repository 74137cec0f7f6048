//! [`strip`]: a few rows of weights by all tokens, the unit of work that a driver hands out.

use keepq_act::Acts;
use keepq_blocks::Rows;

use crate::float::{Element, product};
use crate::quantized::{Panel, panel};
use crate::{Fused, Product, Quantized, Scratch, dot_quantized};

/// The most rows of weights in a strip: eight decoded rows of k = 8192 are 128 KiB, which L2 holds.
pub const STRIP_ROWS: usize = 8;

/// Up to so many tokens, rows are multiplied where they lie: decoding them first would not pay.
pub(crate) const IN_PLACE_TOKENS: usize = 2;

/// Multiplies all rows of `product` by all its tokens: `y[t * n + r]`, overwritten.
///
/// Results do not depend on how a matrix is cut into strips, or `m` into calls.
///
/// # Panics
/// Where there are more than [`STRIP_ROWS`] rows, `y` is not `m * n` long, or `scratch` was not fitted.
#[inline(always)]
pub fn strip<F: Fused>(product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    let (x, w) = (product.x(), product.w());
    assert!(w.n() <= STRIP_ROWS && y.len() == x.m() * w.n(), "a strip of {} rows, y of {}", w.n(), y.len());
    if y.is_empty() {
        return;
    }
    match w.typed() {
        Rows::F32(row) => float::<F, _>(row, product, y, scratch),
        Rows::F16(row) => float::<F, _>(row, product, y, scratch),
        Rows::BF16(row) => float::<F, _>(row, product, y, scratch),
        Rows::Q4_1(row) => quantized(row, product, y, scratch),
        Rows::Q8_0(row) => quantized(row, product, y, scratch),
    }
}

#[inline(always)]
fn quantized<B: Quantized>(blocks: &[B], product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    let Acts::Q8_0(x) = product.x().typed() else { unreachable!("Product::new checks the format") };
    let (m, n) = (product.x().m(), product.w().n());
    let row_blocks = product.w().k() / 32;
    if row_blocks == 0 {
        y.fill(0.0);
    } else if m <= IN_PLACE_TOKENS {
        for (t, y) in y.chunks_exact_mut(n).enumerate() {
            let x = x.blocks(t * row_blocks..(t + 1) * row_blocks);
            for (row, y) in blocks.chunks_exact(row_blocks).zip(y) {
                *y = dot_quantized(row, x);
            }
        }
    } else {
        let scratch = Panel {
            codes: &mut scratch.codes[..n * row_blocks],
            scales: &mut scratch.scales[..n * row_blocks],
            token: &mut scratch.token[..row_blocks],
        };
        panel(blocks, n, x, y, scratch);
    }
}

#[inline(always)]
fn float<F: Fused, E: Element>(elements: &[E], pair: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    let Acts::F32(x) = pair.x().typed() else { unreachable!("Product::new checks the format") };
    let (m, n, k) = (pair.x().m(), pair.w().n(), pair.w().k());
    if m <= IN_PLACE_TOKENS {
        product::<F, E>(elements, n, k, x, y);
    } else {
        let panel = &mut scratch.floats()[..n * k];
        for (value, element) in panel.iter_mut().zip(elements) {
            *value = element.value();
        }
        product::<F, f32>(panel, n, k, x, y);
    }
}
