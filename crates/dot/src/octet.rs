//! Eight rows of weights side by side: a lane is a row, so that there is nothing to add up across lanes, and each lane's
//! chain is the one that defines the result.

use crate::{LANES, Quantized, Target};

/// Two i16 of eight rows, the first in the low half.
pub(crate) type Pairs = [i32; LANES];

/// Codes of 32 elements of eight rows: four neighbours of each row in turn, then the next four.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Codes(pub [[u8; 32]; 8]);

/// What the codes of 32 elements of eight rows are multiplied by, and what is added to them.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Group {
    /// The scale of the first sixteen, twice, and that of the last.
    pub scales: [Pairs; 2],
    /// What the sums of sixteen activations are multiplied by: minima, or what takes the bias of the codes away again.
    pub offsets: Pairs,
}

/// The floats of a block of eight rows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Head {
    pub scale: [f32; LANES],
    pub min: [f32; LANES],
}

impl Codes {
    pub(crate) const ZERO: Self = Self([[0; 32]; 8]);
}

impl Group {
    pub(crate) const ZERO: Self = Self { scales: [[0; LANES]; 2], offsets: [0; LANES] };
}

impl Head {
    pub(crate) const ZERO: Self = Self { scale: [0.0; LANES], min: [0.0; LANES] };
}

/// Block `b` of eight rows from `first` on; past the last row that one stands in, and its results are not read.
#[inline(always)]
pub(crate) fn octet<B>(blocks: &[B], row_blocks: usize, first: usize, b: usize) -> [&B; LANES] {
    let last = blocks.len() / row_blocks - 1;
    let mut rows = [&blocks[b]; LANES];
    for r in 0..LANES {
        rows[r] = &blocks[(first + r).min(last) * row_blocks + b];
    }
    rows
}

/// The codes of group `g`, in registers.
#[inline(always)]
pub(crate) fn codes<T: Target, B: Quantized>(target: T, rows: [&B; LANES], g: usize) -> [T::Bytes; 8] {
    let [a, b, c, d, e, f, h, i] = rows;
    target.columns([
        a.bytes(target, g),
        b.bytes(target, g),
        c.bytes(target, g),
        d.bytes(target, g),
        e.bytes(target, g),
        f.bytes(target, g),
        h.bytes(target, g),
        i.bytes(target, g),
    ])
}

/// The scales of a block. Of a type without sub-blocks `groups` stay as they are.
#[inline(always)]
pub(crate) fn scales<B: Quantized>(rows: [&B; LANES], head: &mut Head, groups: &mut [Group]) {
    for r in 0..LANES {
        head.scale[r] = rows[r].scale();
        if B::HAS_MIN {
            head.min[r] = rows[r].min();
        }
    }
    if !B::SUB_BLOCKS {
        return;
    }
    let scales = B::octet_scales(rows);
    let mins = if B::HAS_MIN { B::octet_mins(rows) } else { [[0; LANES]; 4] };
    if B::SUB_BLOCK == 32 {
        for g in 0..8 {
            for r in 0..LANES {
                let (scale, min) = (byte(&scales, g, r), byte(&mins, g, r) & 0xff);
                groups[g].scales[0][r] = pair(scale, scale);
                groups[g].offsets[r] = pair(min, min);
            }
        }
    } else {
        for g in 0..8 {
            for r in 0..LANES {
                let [a, b] = [byte(&scales, 2 * g, r), byte(&scales, 2 * g + 1, r)];
                groups[g].scales[0][r] = pair(a, a);
                groups[g].scales[1][r] = pair(b, b);
                groups[g].offsets[r] = if B::HAS_MIN {
                    pair(byte(&mins, 2 * g, r) & 0xff, byte(&mins, 2 * g + 1, r) & 0xff)
                } else {
                    pair(-i32::from(B::BIAS) * a, -i32::from(B::BIAS) * b)
                };
            }
        }
    }
}

/// Byte `j` of row `r`, signed.
#[inline(always)]
fn byte(words: &[[u32; LANES]; 4], j: usize, r: usize) -> i32 {
    (words[j / 4][r] << (24 - 8 * (j % 4))).cast_signed() >> 24
}

#[inline(always)]
fn pair(low: i32, high: i32) -> i32 {
    low & 0xffff | high << 16
}

/// The bytes of eight rows as four words, a lane a row.
#[inline(always)]
pub(crate) fn words(rows: [[u8; 16]; LANES]) -> [[u32; LANES]; 4] {
    let mut words = [[0; LANES]; 4];
    for r in 0..LANES {
        let row = rows[r].as_chunks::<4>().0;
        for w in 0..4 {
            words[w][r] = u32::from_le_bytes(row[w]);
        }
    }
    words
}

/// The integer sum of `M` tokens before any product: what takes the bias of codes without scales of their own away.
#[inline(always)]
pub(crate) fn start<T: Target, B: Quantized, const M: usize>(target: T, sums: [&[[i16; 2]]; M]) -> [T::I32s; M] {
    let mut total = [target.splat_i32(0); M];
    if B::BIAS > 0 && !B::SUB_BLOCKS {
        for t in 0..M {
            let [a, b] = sums[t][0];
            total[t] = target.splat_i32(-i32::from(B::BIAS) * i32::from(a + b));
        }
    }
    total
}

/// Carries a block's chain on in eight rows: one step for the scale, one for the minimum.
#[inline(always)]
pub(crate) fn step<T: Target, B: Quantized>(
    target: T,
    acc: T::F32s,
    head: &Head,
    groups: &[Group],
    x_scale: f32,
    sums: &[[i16; 2]],
    isum: T::I32s,
) -> T::F32s {
    let x_scale = target.splat(x_scale);
    let p = target.mul(target.load(&head.scale), x_scale);
    let acc = target.add(acc, target.mul(p, target.to_f32(isum)));
    if !B::HAS_MIN {
        return acc;
    }
    let p = target.mul(target.load(&head.min), x_scale);
    let msum = if B::SUB_BLOCKS {
        let mut msum = target.splat_i32(0);
        for (group, sums) in groups.iter().zip(sums) {
            msum = target.pairs(msum, &group.offsets, *sums);
        }
        target.to_f32(msum)
    } else {
        target.splat(f32::from(sums[0][0] + sums[0][1]))
    };
    target.add(acc, target.mul(p, msum))
}
