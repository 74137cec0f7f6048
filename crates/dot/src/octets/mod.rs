//! Eight rows of weights side by side: how instruction sets with products of bytes multiply.
//!
//! A lane is a row, so that there is nothing to add up across lanes, and each lane's chain is the one that defines the
//! result. Few tokens take the codes as they lie ([`direct`]); for more of them rows are decoded once ([`panel`]).
//!
//! Codes are unsigned bytes with their bias left in, which the sums of activations take away again; in panels it is taken from them where products
//! take signed codes. Several products are
//! added up in 16 bits before they are widened, as many as never overflow them ([`Quantized::QUADS`]); where they are widened
//! the scale of their sub-block is multiplied in. All of that is exact, and written in the order in which registers suffice, which
//! the compiler is held to ([`Target::settled`]): it would make trees of the sums otherwise, and spill what these need.

mod direct;
mod octet;
mod panel;
mod rows;
mod scales;
mod tile;
mod walk;

use crate::{Quantized, Target};
pub(crate) use direct::{DIRECT_ROWS, MOST_TOKENS, direct};
pub use octet::Octet;
pub(crate) use panel::{Codes, DEPTH, Group, Head, Panel, ROWS, panel};
pub(crate) use rows::{InPlace, Interleaved, Rows};
pub(crate) use walk::{Steps, walk};

/// What is added to codes to make them unsigned.
const fn bias<T: Target, B: Quantized>() -> u8 {
    if made_unsigned::<T, B>() { 128 } else { B::BIAS }
}

/// [`bias`] of the codes in a panel: they are stored without it where products take signed codes.
const fn panel_bias<T: Target, B: Quantized>() -> u8 {
    if T::SIGNED_PRODUCTS { 0 } else { bias::<T, B>() }
}

/// Whether signed codes are made unsigned.
const fn made_unsigned<T: Target, B: Quantized>() -> bool {
    B::SIGNED && T::WIDE_PARTIAL && !T::SIGNED_PRODUCTS
}

/// Quads of products that are added up before they are widened.
const fn quads<T: Target, B: Quantized>() -> usize {
    match B::SUB_BLOCK {
        _ if !T::WIDE_PARTIAL => B::QUADS,
        16 => 4,
        _ => 8,
    }
}

/// [`Quantized::octet_codes`] with [`bias`].
#[inline(always)]
fn octet_codes<T: Target, B: Quantized>(target: T, octet: impl Octet<B>, mut put: impl FnMut(usize, usize, T::Bytes)) {
    B::octet_codes(
        target,
        octet,
        #[inline(always)]
        |g, q, codes| put(g, q, if made_unsigned::<T, B>() { target.sub_bytes(codes, 128) } else { codes }),
    );
}

/// `sum` and the products of a quad, in this order.
#[inline(always)]
fn products<T: Target, B: Quantized>(target: T, sum: T::Partial, w: T::Bytes, x: T::Bytes) -> T::Partial {
    target.settled(if B::SIGNED && !T::WIDE_PARTIAL {
        target.signed_products(w, x)
    } else {
        target.add_products(sum, w, x)
    })
}

/// `isum` and a sum of products, times the scale of its sub-block where there are any, in this order.
#[inline(always)]
fn widen<T: Target, B: Quantized>(target: T, isum: T::I32s, sum: T::Partial, scale: impl Fn() -> T::Pairs) -> T::I32s {
    target.settled_i32(if B::SUB_BLOCKS { target.widen_scaled(isum, sum, scale()) } else { target.widen(isum, sum) })
}

/// Carries the chains of a token on by a block: a step for the scale, and one for the minimum.
#[inline(always)]
fn step<T: Target, B: Quantized>(
    target: T,
    acc: T::F32s,
    [scale, min]: [T::F32s; 2],
    x_scale: f32,
    isum: T::I32s,
    msum: T::I32s,
) -> T::F32s {
    let x_scale = target.splat(x_scale);
    let p = target.mul(scale, x_scale);
    let acc = target.add(acc, target.mul(p, target.to_f32(isum)));
    if !B::HAS_MIN {
        return acc;
    }
    let p = target.mul(min, x_scale);
    target.add(acc, target.mul(p, target.to_f32(msum)))
}
