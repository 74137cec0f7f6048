//! [`strip`]: a few rows of weights by all tokens, the unit of work that a driver hands out.

use keepq_act::{Acts, Q8Rows};
use keepq_blocks::{
    Block, BlockQ2_K, BlockQ3_K, BlockQ4_0, BlockQ4_1, BlockQ4_K, BlockQ5_0, BlockQ5_1, BlockQ5_K, BlockQ6_K,
    BlockQ8_0, GgmlType, Rows,
};

use crate::float::{self, Element};
use crate::octets;
use crate::quantized::in_place;
use crate::{InterleavedRows, Product, Quantized, Scratch, Target};

/// The most rows of weights in a strip of `m` tokens.
///
/// Few tokens: as many as memory is read fastest by. More: what a panel holds.
#[must_use]
pub const fn strip_rows(m: usize) -> usize {
    if m <= octets::MOST_TOKENS { octets::DIRECT_ROWS } else { octets::ROWS }
}

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
/// Where there are more than [`strip_rows`] rows, `y` is not `m * n` long, or `scratch` was not fitted.
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
    assert!(w.n() <= strip_rows(x.m()) && y.len() == x.m() * w.n(), "a strip of {} rows, y of {}", w.n(), y.len());
    if y.is_empty() {
        return;
    }
    match w.typed() {
        Rows::F32(row) => by_floats(target, row, product, y),
        Rows::F16(row) => by_floats(target, row, product, y),
        Rows::BF16(row) => by_floats(target, row, product, y),
        Rows::Q4_0(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q4_1(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q5_0(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q5_1(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q8_0(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q2_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q3_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q4_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q5_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::Q6_K(row) if way == Way::Octets && x.m() == 1 && w.k() > 0 => walked(target, row, product, y, scratch),
        Rows::Q6_K(row) => quantized(target, way, row, product, y, scratch),
        Rows::IQ4_NL(_) | Rows::IQ4_XS(_) | Rows::MXFP4(_) => {
            unreachable!("Product::new refuses types without a kernel")
        }
    }
}

/// One token by rows that are walked.
fn walked<T: Target>(target: T, blocks: &[BlockQ6_K], product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
    let Acts::Q8_K(x) = product.x().typed() else { unreachable!("Product::new checks the format") };
    let (row_blocks, steps) = (product.w().k() / BlockQ6_K::LEN, scratch.steps());
    target.run(
        #[inline(always)]
        || octets::walk(target, blocks, row_blocks, x, y, steps),
    );
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
    match way {
        _ if row_blocks == 0 => y.fill(0.0),
        Way::InPlace => {
            let wide = scratch.wide();
            target.run(
                #[inline(always)]
                || in_place(blocks, row_blocks, x, wide, y),
            );
        }
        Way::Octets => by_octets(target, octets::InPlace { blocks, row_blocks }, x, y, scratch),
    }
}

/// [`strip`] of weights whose rows are interleaved: the same results.
///
/// # Panics
/// As [`strip`] does.
#[inline]
pub fn strip_interleaved<T: Target>(
    target: T,
    product: Product<'_, InterleavedRows<'_>>,
    y: &mut [f32],
    scratch: &mut Scratch,
) {
    let (x, w) = (product.x(), product.w());
    assert!(w.n() <= strip_rows(x.m()) && y.len() == x.m() * w.n(), "a strip of {} rows, y of {}", w.n(), y.len());
    if y.is_empty() {
        return;
    }
    match w.ty() {
        GgmlType::Q4_0 => interleaved::<T, BlockQ4_0>(target, product, y, scratch),
        GgmlType::Q4_1 => interleaved::<T, BlockQ4_1>(target, product, y, scratch),
        GgmlType::Q5_0 => interleaved::<T, BlockQ5_0>(target, product, y, scratch),
        GgmlType::Q5_1 => interleaved::<T, BlockQ5_1>(target, product, y, scratch),
        GgmlType::Q8_0 => interleaved::<T, BlockQ8_0>(target, product, y, scratch),
        GgmlType::Q2_K => interleaved::<T, BlockQ2_K>(target, product, y, scratch),
        GgmlType::Q3_K => interleaved::<T, BlockQ3_K>(target, product, y, scratch),
        GgmlType::Q4_K => interleaved::<T, BlockQ4_K>(target, product, y, scratch),
        GgmlType::Q5_K => interleaved::<T, BlockQ5_K>(target, product, y, scratch),
        ty => unreachable!("{ty} is never interleaved"),
    }
}

fn interleaved<T: Target, B: Quantized>(
    target: T,
    product: Product<'_, InterleavedRows<'_>>,
    y: &mut [f32],
    scratch: &mut Scratch,
) {
    let (Acts::Q8_0(x) | Acts::Q8_K(x)) = product.x().typed() else { unreachable!("Product::new checks the format") };
    let (n, row_blocks, records) = (product.w().n(), product.w().k() / B::LEN, product.w().records::<B>());
    if row_blocks == 0 {
        return y.fill(0.0);
    }
    by_octets(target, octets::Interleaved { n, records, row_blocks }, x, y, scratch);
}

/// Eight rows side by side by all tokens.
fn by_octets<T: Target, B: Quantized>(
    target: T,
    rows: impl octets::Rows<B>,
    x: Q8Rows<'_>,
    y: &mut [f32],
    scratch: &mut Scratch,
) {
    if y.len() <= octets::MOST_TOKENS * rows.n() {
        return octets::direct(target, rows, x, y);
    }
    let mut memory = scratch.panel();
    target.run(
        #[inline(always)]
        || octets::panel(target, rows, x, y, &mut memory),
    );
}

fn by_floats<T: Target, E: Element>(target: T, elements: &[E], product: Product<'_>, y: &mut [f32]) {
    let Acts::F32(x) = product.x().typed() else { unreachable!("Product::new checks the format") };
    match product.w().k() {
        0 => y.fill(0.0),
        k => float::in_place(target, elements, k, x, y),
    }
}
