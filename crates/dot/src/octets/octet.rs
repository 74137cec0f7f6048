//! [`Octet`]: a block of each of eight rows, seen as columns of four bytes.

use bytemuck::bytes_of;
use keepq_blocks::F16;

use crate::{LANES, Quantized, Target};

/// A block of each of eight rows: where they lie, or interleaved.
pub trait Octet<B: Quantized>: Copy {
    /// Columns of four bytes: in each lane those of the row's block that begin at byte `at`. Words do not reach over a field's end.
    fn words<T: Target, const N: usize>(self, target: T, at: usize) -> [T::Bytes; N];

    /// [`Quantized::d`] and [`Quantized::m`] of each row.
    fn floats<T: Target>(self, target: T) -> [T::F32s; 2];
}

/// Eight blocks where they lie.
impl<B: Quantized> Octet<B> for [&B; LANES] {
    #[inline(always)]
    fn words<T: Target, const N: usize>(self, target: T, at: usize) -> [T::Bytes; N] {
        let mut words = [target.splat_bytes([0; 4]); N];
        for first in (0..N).step_by(4) {
            let (at, n) = (at + 4 * first, 4.min(N - first));
            let four = if at + 16 <= size_of::<B>() {
                target.words(of_each(self, |block| bytes_of(block)[at..].first_chunk().expect("within the block")))
            } else {
                let mut copies = [[0; 16]; LANES];
                for r in 0..LANES {
                    copies[r][..4 * n].copy_from_slice(&bytes_of(self[r])[at..][..4 * n]);
                }
                target.words(copies.each_ref())
            };
            words[first..first + n].copy_from_slice(&four[..n]);
        }
        words
    }

    #[inline(always)]
    fn floats<T: Target>(self, target: T) -> [T::F32s; 2] {
        if !B::SUB_BLOCKS {
            // Blocks of 32 begin with their floats.
            let [floats] = Octet::<B>::words(self, target, 0);
            return target.widen_halves(floats);
        }
        let (mut d, mut m) = ([F16::default(); LANES], [F16::default(); LANES]);
        for r in 0..LANES {
            d[r] = self[r].d();
            m[r] = self[r].m();
        }
        [target.widen_f16(d), target.widen_f16(m)]
    }
}

/// Eight blocks interleaved: what stands at byte `at` of a block stands at `8 * at` here, row by row.
#[derive(Clone, Copy)]
pub(super) struct Record<'a, B>(pub(super) &'a [B; LANES]);

impl<B: Quantized> Octet<B> for Record<'_, B> {
    #[inline(always)]
    fn words<T: Target, const N: usize>(self, target: T, at: usize) -> [T::Bytes; N] {
        let bytes = &bytes_of(self.0)[LANES * at..];
        let mut words = [target.splat_bytes([0; 4]); N];
        for i in 0..N {
            words[i] = target.load_bytes(bytes[32 * i..].first_chunk().expect("within the record"));
        }
        words
    }

    #[inline(always)]
    fn floats<T: Target>(self, target: T) -> [T::F32s; 2] {
        if B::HAS_MIN {
            let [floats] = self.words(target, B::FLOATS_AT);
            let [d, m] = target.widen_halves(floats);
            return [d, if B::SUB_BLOCKS { target.mul(m, target.splat(-1.0)) } else { m }];
        }
        let halves = bytes_of(self.0)[LANES * B::FLOATS_AT..].first_chunk::<16>().expect("within the record");
        [target.widen_f16(bytemuck::cast(*halves)); 2]
    }
}

/// A part of each of eight rows' blocks. Not `map`, which is not inlined reliably.
#[inline(always)]
fn of_each<'b, B, F: ?Sized>(
    [r, s, t, u, v, w, x, y]: [&'b B; LANES],
    field: impl Fn(&'b B) -> &'b F,
) -> [&'b F; LANES] {
    [field(r), field(s), field(t), field(u), field(v), field(w), field(x), field(y)]
}
