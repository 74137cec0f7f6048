//! Eight rows of weights side by side: a lane is a row, so that there is nothing to add up across lanes, and each lane's
//! chain is the one that defines the result.

use crate::{LANES, Quantized, Target};

/// Two integers of eight rows.
pub(crate) type Pairs = [[i16; 2]; LANES];

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
    pub(crate) const ZERO: Self = Self { scales: [[[0; 2]; LANES]; 2], offsets: [[0; 2]; LANES] };
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
    let (mut scales, mut mins) = ([[0; 16]; LANES], [[0; 16]; LANES]);
    for r in 0..LANES {
        scales[r] = rows[r].sub_scales().map(i8::cast_unsigned);
        if B::HAS_MIN {
            mins[r] = rows[r].sub_mins();
        }
    }
    // Sub-blocks of 32 are eight, those of 16 two eights.
    let per_group = 32 / B::SUB_BLOCK;
    for first in (0..8 * per_group).step_by(8) {
        let (scales, mins) = (transpose(&scales, first), transpose(&mins, first));
        for j in 0..8 {
            let (g, i) = ((first + j) / per_group, (first + j) % per_group);
            let group = &mut groups[g];
            for r in 0..LANES {
                let scale = i16::from(scales[j][r].cast_signed());
                group.scales[i][r] = [scale; 2];
                let offset = if B::HAS_MIN { i16::from(mins[j][r]) } else { -i16::from(B::BIAS) * scale };
                if per_group == 1 {
                    group.offsets[r] = [offset; 2];
                } else {
                    group.offsets[r][i] = offset;
                }
            }
        }
    }
}

/// Eight bytes of eight rows, column by column. Halves, quarters and bytes of 64-bit words change places.
#[inline(always)]
fn transpose(rows: &[[u8; 16]; LANES], first: usize) -> [[u8; LANES]; 8] {
    let mut words = [0; LANES];
    for (word, row) in words.iter_mut().zip(rows) {
        *word = u64::from_le_bytes(row.as_chunks::<LANES>().0[first / 8]);
    }
    exchange::<4>(&mut words, 0x0000_0000_ffff_ffff);
    exchange::<2>(&mut words, 0x0000_ffff_0000_ffff);
    exchange::<1>(&mut words, 0x00ff_00ff_00ff_00ff);
    let mut columns = [[0; LANES]; 8];
    for (column, word) in columns.iter_mut().zip(words) {
        *column = word.to_le_bytes();
    }
    columns
}

/// In each pair of words `DISTANCE` apart, the bytes outside `mask` of the first change places with those inside it of
/// the second.
#[inline(always)]
fn exchange<const DISTANCE: usize>(words: &mut [u64; LANES], mask: u64) {
    for i in 0..LANES {
        if i & DISTANCE == 0 {
            let swapped = (words[i] >> (8 * DISTANCE) ^ words[i + DISTANCE]) & mask;
            words[i + DISTANCE] ^= swapped;
            words[i] ^= swapped << (8 * DISTANCE);
        }
    }
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
