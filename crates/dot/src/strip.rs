//! [`strip`]: a few rows of weights by all tokens, the unit of work that a driver hands out.

use keepq_act::Acts;
use keepq_blocks::Rows;

use crate::float::{Element, product, widen};
use crate::octets::{self, ROWS};
use crate::quantized::in_place;
use crate::{Product, Quantized, Scratch, Target};

/// The most rows of weights in a strip.
pub const STRIP_ROWS: usize = ROWS;

/// Up to so many tokens, rows of float weights are multiplied where they lie: widening them first would not pay.
pub(crate) const FLOAT_IN_PLACE_TOKENS: usize = 2;

/// How quantized weights are multiplied. The results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Row by row where they lie, with products of 16 bits: what every instruction set has.
    InPlace,
    /// Eight rows side by side, with products of bytes; decoded once where there are more than a few tokens.
    Octets,
}

/// Multiplies all rows of `product` by all its tokens: `y[t * n + r]`, overwritten.
///
/// Results do not depend on how a matrix is cut into strips, or `m` into calls.
///
/// # Panics
/// Where there are more than [`STRIP_ROWS`] rows, `y` is not `m * n` long, or `scratch` was not fitted.
#[inline]
pub fn strip<T: Target>(target: T, product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    strip_by(target, T::WAY, product, y, scratch);
}

/// [`strip`] in a way that need not be the target's own.
///
/// # Panics
/// As [`strip`] does.
#[inline]
pub fn strip_by<T: Target>(target: T, way: Way, product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    let (x, w) = (product.x(), product.w());
    assert!(w.n() <= STRIP_ROWS && y.len() == x.m() * w.n(), "a strip of {} rows, y of {}", w.n(), y.len());
    if y.is_empty() {
        return;
    }
    match w.typed() {
        Rows::F32(row) => float(target, row, product, y, scratch),
        Rows::F16(row) => float(target, row, product, y, scratch),
        Rows::BF16(row) => float(target, row, product, y, scratch),
        Rows::Q4_0(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q4_1(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q5_0(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q5_1(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q8_0(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q2_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q3_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q4_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q5_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q6_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::IQ4_NL(_) | Rows::IQ4_XS(_) | Rows::MXFP4(_) => {
            unreachable!("Product::new refuses types without a kernel")
        }
    }
}

fn quantized<T: Target, B: Quantized>(
    target: T,
    way: Way,
    blocks: &[B],
    product: Product<'_>,
    y: &mut [f32],
    scratch: &mut Scratch,
) {
    let (Acts::Q8_0(x) | Acts::Q8_K(x)) = product.x().typed() else { unreachable!("Product::new checks the format") };
    let row_blocks = product.w().k() / B::LEN;
    match (way, product.x().m()) {
        _ if row_blocks == 0 => y.fill(0.0),
        (Way::InPlace, _) => {
            let wide = scratch.wide();
            target.run(
                #[inline(always)]
                || in_place(blocks, row_blocks, x, wide, y),
            );
        }
        (Way::Octets, 1) => {
            let steps = scratch.steps();
            target.run(
                #[inline(always)]
                || octets::narrow::<T, B, 1>(target, blocks, row_blocks, x, y, steps),
            );
        }
        (Way::Octets, 2) => {
            let steps = scratch.steps();
            target.run(
                #[inline(always)]
                || octets::narrow::<T, B, 2>(target, blocks, row_blocks, x, y, steps),
            );
        }
        (Way::Octets, _) => {
            let mut memory = scratch.panel();
            target.run(
                #[inline(always)]
                || octets::panel(target, blocks, row_blocks, x, y, &mut memory),
            );
        }
    }
}

fn float<T: Target, E: Element>(target: T, elements: &[E], pair: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    let Acts::F32(x) = pair.x().typed() else { unreachable!("Product::new checks the format") };
    let (m, n, k) = (pair.x().m(), pair.w().n(), pair.w().k());
    if m <= FLOAT_IN_PLACE_TOKENS {
        target.run(
            #[inline(always)]
            || product(target, elements, n, k, x, y),
        );
    } else {
        let panel = &mut scratch.floats()[..n * k];
        target.run(
            #[inline(always)]
            || {
                widen(target, elements, panel);
                product(target, &*panel, n, k, x, y);
            },
        );
    }
}
