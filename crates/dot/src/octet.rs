//! Eight rows of weights side by side: a lane is a row, so that there is nothing to add up across lanes, and each lane's
//! chain is the one that defines the result.

use keepq_blocks::F16;

use crate::{LANES, Quantized, Target};

/// Eight rows of blocks.
#[inline(always)]
pub(crate) fn rows<B>(blocks: &[B], row_blocks: usize, first: usize) -> [&[B]; LANES] {
    let last = blocks.len() / row_blocks - 1;
    // Past the last row that one stands in, and its results are not read.
    let row = |r: usize| &blocks[(first + r).min(last) * row_blocks..][..row_blocks];
    [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)]
}

/// Block `b` of each row.
#[inline(always)]
pub(crate) fn blocks<'w, B>([r, s, t, u, v, w, x, y]: [&'w [B]; LANES], b: usize) -> [&'w B; LANES] {
    [&r[b], &s[b], &t[b], &u[b], &v[b], &w[b], &x[b], &y[b]]
}

/// Codes of 32 elements: four neighbours of each row in turn, then the next four.
#[inline(always)]
pub(crate) fn codes<T: Target, B: Quantized>(
    target: T,
    [r, s, t, u, v, w, x, y]: [&B; LANES],
    group: usize,
) -> [T::Bytes; 8] {
    let bytes = |row: &B| row.bytes(target, group);
    target.columns([bytes(r), bytes(s), bytes(t), bytes(u), bytes(v), bytes(w), bytes(x), bytes(y)])
}

/// What codes are multiplied by, and what is added to them.
#[derive(Clone, Copy)]
pub(crate) struct Scales<T: Target> {
    /// `d`.
    pub scale: T::F32s,
    /// `m`.
    pub min: T::F32s,
    scales: [T::Bytes; 4],
    mins: [T::Bytes; 4],
}

impl<T: Target> Scales<T> {
    #[inline(always)]
    pub(crate) fn new<B: Quantized>(target: T, rows: [&B; LANES]) -> Self {
        let (mut d, mut m) = ([F16::default(); LANES], [F16::default(); LANES]);
        for r in 0..LANES {
            d[r] = rows[r].d();
            if B::HAS_MIN {
                m[r] = rows[r].m();
            }
        }
        let scale = target.widen_f16(d);
        let [scales, mins] =
            if B::SUB_BLOCKS { B::octet_scales(target, rows) } else { [[target.splat_bytes([0; 4]); 4]; 2] };
        Self { scale, min: if B::HAS_MIN { target.widen_f16(m) } else { scale }, scales, mins }
    }

    /// The scale of a sub-block, twice.
    #[inline(always)]
    pub(crate) fn sub_block(&self, target: T, j: usize) -> T::Pairs {
        target.signed_pairs(self.scales[j / 4], [j % 4; 2])
    }

    /// What the two sums of 16 activations of a group are multiplied by: minima, or what takes the bias of the codes away
    /// again.
    #[inline(always)]
    pub(crate) fn offsets<B: Quantized>(&self, target: T, group: usize) -> T::Pairs {
        let (word, which) = match B::SUB_BLOCK {
            32 => (group / 4, [group % 4; 2]),
            _ => (group / 2, [group % 2 * 2, group % 2 * 2 + 1]),
        };
        if B::HAS_MIN {
            target.unsigned_pairs(self.mins[word], which)
        } else {
            target.mul_pairs(target.signed_pairs(self.scales[word], which), -i16::from(B::BIAS))
        }
    }
}

/// The integer sum before any product: what takes the bias of codes without scales of their own away.
#[inline(always)]
pub(crate) fn start<T: Target, B: Quantized>(target: T, sums: &[[i16; 2]]) -> T::I32s {
    if B::BIAS > 0 && !B::SUB_BLOCKS {
        let [a, b] = sums[0];
        target.splat_i32(-i32::from(B::BIAS) * i32::from(a + b))
    } else {
        target.splat_i32(0)
    }
}

/// Carries the chains of a token on by a block: one step for the scale, one for the minimum.
#[inline(always)]
pub(crate) fn step<T: Target, B: Quantized>(
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

/// Calls `body` with 0 to 7, each call a copy of its own: what depends on the number is then known when it is compiled.
#[inline(always)]
pub(crate) fn unrolled(count: usize, mut body: impl FnMut(usize)) {
    body(0);
    if count > 1 {
        body(1);
        body(2);
        body(3);
        body(4);
        body(5);
        body(6);
        body(7);
    }
}
