//! Eight rows of weights side by side: how instruction sets with products of bytes multiply.
//!
//! A lane is a row, so that there is nothing to add up across lanes, and each lane's chain is the one that defines the
//! result. Few tokens take the codes as they lie ([`direct`]); for more of them rows are decoded once ([`panel`]).
//!
//! Codes are unsigned bytes with their bias left in, which the sums of activations take away again. Several products are
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

use keepq_act::Q8Rows;

use crate::columns::eight;
use crate::{Quantized, Target};
pub(crate) use direct::{DIRECT_ROWS, MOST_TOKENS, direct};
pub use octet::Octet;
pub(crate) use panel::{Codes, DEPTH, Group, Head, Panel, ROWS, panel};
pub(crate) use rows::{InPlace, Interleaved, Rows};
pub(crate) use walk::{Steps, walk};

/// The codes and sums of block `b` of each token.
#[derive(Clone, Copy)]
struct Tokens<'x, const M: usize> {
    codes: [&'x [[i8; 32]]; M],
    sums: [&'x [[i16; 2]]; M],
}

impl<'x, const M: usize> Tokens<'x, M> {
    #[inline(always)]
    fn new<B: Quantized>(x: [Q8Rows<'x>; M], b: usize) -> Self {
        let mut tokens = Self { codes: [&[]; M], sums: [&[]; M] };
        for t in 0..M {
            tokens.codes[t] = &x[t].codes[b * B::GROUPS..][..B::GROUPS];
            tokens.sums[t] = &x[t].sums[b * B::GROUPS..][..B::GROUPS];
        }
        tokens
    }
}

/// Adds the products of a group of 32 elements to `isum`, for `H` eights of rows and `M` tokens.
///
/// `codes(q, half)` are those of elements `4 q` to `4 q + 3`, `scale(j, half)` is that of the group's sub-block `j`.
#[inline(always)]
fn add_products<T: Target, B: Quantized, const H: usize, const M: usize>(
    target: T,
    x: [&[i8; 32]; M],
    codes: impl Fn(usize, usize) -> T::Bytes,
    scale: impl Fn(usize, usize) -> T::Pairs,
    isum: &mut [[T::I32s; H]; M],
) {
    if B::QUADS <= 2 {
        add_few_products::<T, B, H, M>(target, x, codes, scale, isum);
        return;
    }
    let mut sum = [[target.nothing(); H]; M];
    eight(
        #[inline(always)]
        |q| {
            if q.is_multiple_of(B::QUADS) {
                sum = [[target.nothing(); H]; M];
            }
            let mut w = [codes(q, 0); H];
            for half in 1..H {
                w[half] = codes(q, half);
            }
            for t in 0..M {
                let x = target.splat_bytes(x[t].as_chunks().0[q]);
                for half in 0..H {
                    sum[t][half] = products::<T, B>(target, sum[t][half], w[half], x);
                }
            }
            if q % B::QUADS == B::QUADS - 1 {
                for t in 0..M {
                    for half in 0..H {
                        let scale = || scale(4 * q / B::SUB_BLOCK, half);
                        isum[t][half] = widen::<T, B>(target, isum[t][half], sum[t][half], scale);
                    }
                }
            }
        },
    );
}

/// [`add_products`] where no more than two quads are added up in 16 bits: their codes stay in registers, and each token's sum
/// is widened at once.
#[inline(always)]
fn add_few_products<T: Target, B: Quantized, const H: usize, const M: usize>(
    target: T,
    x: [&[i8; 32]; M],
    codes: impl Fn(usize, usize) -> T::Bytes,
    scale: impl Fn(usize, usize) -> T::Pairs,
    isum: &mut [[T::I32s; H]; M],
) {
    eight(
        #[inline(always)]
        |first| {
            if !first.is_multiple_of(B::QUADS) {
                return;
            }
            let mut w = [[codes(first, 0); H]; 2];
            for i in 0..B::QUADS {
                for half in 0..H {
                    w[i][half] = codes(first + i, half);
                }
            }
            for t in 0..M {
                let mut sum = [target.nothing(); H];
                for i in 0..B::QUADS {
                    let x = target.splat_bytes(x[t].as_chunks().0[first + i]);
                    for half in 0..H {
                        sum[half] = products::<T, B>(target, sum[half], w[i][half], x);
                    }
                }
                for half in 0..H {
                    let scale = || scale(4 * first / B::SUB_BLOCK, half);
                    isum[t][half] = widen::<T, B>(target, isum[t][half], sum[half], scale);
                }
            }
        },
    );
}

/// `sum` and the products of a quad, in this order.
#[inline(always)]
fn products<T: Target, B: Quantized>(target: T, sum: T::Partial, w: T::Bytes, x: T::Bytes) -> T::Partial {
    target.settled(if B::SIGNED { target.signed_products(w, x) } else { target.add_products(sum, w, x) })
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
